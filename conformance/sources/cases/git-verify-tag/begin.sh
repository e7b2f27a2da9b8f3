git -c user.signingKey=ann@example.com tag --sign -m signed v3.0.0
