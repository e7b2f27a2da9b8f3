rm -rf .git && git init --quiet --initial-branch=main
