echo n > n && git add . && git commit --quiet -m n && git tag v3.1.0
