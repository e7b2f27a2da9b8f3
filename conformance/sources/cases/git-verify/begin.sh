echo s > signed.txt && git add . && git commit --quiet --gpg-sign=ann@example.com -m signed
