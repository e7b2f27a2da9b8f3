git reset --quiet --hard HEAD~1 && echo other > other.txt && git add . && git commit --quiet -m rewritten
