git tag --force release HEAD~1
