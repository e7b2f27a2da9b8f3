echo '*.md' > .sourceignore && git add . && git commit --quiet -m ignore
