echo s > signed.txt && git add . && git commit --quiet --gpg-sign=ann@example.com -m signed
git -c user.signingKey=ann@example.com tag --sign -m signed v3.0.0
