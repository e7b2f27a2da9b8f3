echo more > more.txt && git add . && git commit --quiet -m third
