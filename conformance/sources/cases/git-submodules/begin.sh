printf '[submodule "lib"]\n\tpath = lib\n\turl = %s\n' ../base.git > .gitmodules
git add .gitmodules && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),lib && git commit --quiet -m submodule
