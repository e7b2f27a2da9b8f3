git branch -D dev
