"""Version control, containers, shells and the usual small programs."""

from __future__ import annotations

from holdfast.tools.known_programs.program import known_program

SYSTEM_PROGRAMS = (
    known_program(
        "git",
        "https://git-scm.com/docs/git#_options",
        "-cCOox git-dir work-tree exec-path config-env namespace upload-pack receive-pack exec open-files-in-pager "
        "ext-diff textconv output output-directory extcmd tool template separate-git-dir reference reference-if-able "
        "config super-prefix attr-source list-cmds filter-process interactive-diff-filter pathspec-from-file "
        "gpg-sign local-user upload-archive remote bundle-uri server-option signed file",
        exact="format out",
        values="mSGLnU",
        words="config filter-branch daemon submodule difftool mergetool bisect send-email instaweb credential gui help "
        "worktree init clone archive bundle hook rebase update-index update-ref remote fast-import request-pull svn p4 "
        "cvsimport citool gc maintenance http-backend shell for-each-repo sh-setup replace notes lfs annex",
    ),
    known_program(
        "hg",
        "https://www.mercurial-scm.org/help/topics/config",
        "-Ro config cwd repository output tool",
        words="config serve clone init bundle archive extdiff",
    ),
    known_program(
        "svn",
        "https://svnbook.red-bean.com/en/1.7/svn.ref.svn.html",
        "-F config-option config-dir diff-cmd diff3-cmd editor-cmd file",
        words="checkout co export switch propset ps import",
    ),
    known_program(
        "jj",
        "https://docs.jj-vcs.dev/latest/cli-reference/",
        "-R config config-file repository config-toml tool",
        words="config util git fix diffedit",
    ),
    known_program(
        "gh glab hub",
        "https://cli.github.com/manual/",
        "-FODf body-file output dir input template",
        words=(
            "api extension alias auth config secret ssh-key gpg-key codespace repo gist variable run workflow "
            "release browse"
        ),
    ),
    known_program(
        "docker podman nerdctl docker-compose",
        "https://docs.docker.com/reference/cli/docker/",
        "-vfeoHcupw volume mount privileged device cap-add security-opt pid ipc uts userns network net entrypoint file "
        "env-file env cidfile iidfile metadata-file output build-context build-arg secret ssh config host context "
        "tlscacert "
        "tlscert tlskey volumes-from add-host project-directory log-opt log-driver gpus cgroup-parent runtime sysctl "
        "publish "
        "publish-all user tmpfs init-path root storage-opt module identity url connection",
        words="run exec cp build buildx create import load save export commit plugin context swarm service stack start "
        "compose volume network push pull login machine kube unshare system container image builder secret config up",
    ),
    known_program(
        "kubectl oc helm k9s kustomize skaffold tilt",
        "https://kubernetes.io/docs/reference/kubectl/",
        "-fkon kubeconfig filename kustomize token as raw output-directory post-renderer values set set-file repo "
        "server "
        "cluster context cache-dir profile-output editor template",
        words="exec apply create cp run edit delete patch replace attach debug proxy port-forward plugin config "
        "install upgrade uninstall scale drain krew rsh rsync auth certificate set label annotate",
    ),
    known_program(
        "terraform tofu terragrunt",
        "https://developer.hashicorp.com/terraform/cli/commands",
        "chdir var-file var out state state-out backup plugin-dir backend-config from-module generate-config-out "
        "target "
        "replace destroy junit-xml test-directory write",
        words="apply destroy import console state taint untaint login logout init workspace",
        single=True,
    ),
    known_program(
        "ansible ansible-playbook pulumi vagrant packer cdk sam serverless", "https://docs.ansible.com/", closed=True
    ),
    known_program(
        "aws gcloud az gsutil doctl heroku flyctl fly vercel netlify wrangler",
        "https://docs.aws.amazon.com/cli/",
        closed=True,
    ),
    known_program(
        "ssh scp sftp rsync mosh telnet nc ncat socat ftp rclone sshfs", "https://man.openbsd.org/ssh.1", closed=True
    ),
    known_program("curl wget http https xh aria2c lynx w3m", "https://curl.se/docs/manpage.html", closed=True),
    known_program(
        "tar bsdtar zip unzip 7z 7za cpio pax unrar", "https://www.gnu.org/software/tar/manual/tar.html", closed=True
    ),
    known_program(
        "find gfind",
        "https://www.gnu.org/software/findutils/manual/html_mono/find.html",
        "exec execdir ok okdir delete fprint fprint0 fprintf fls files0-from D",
        single=True,
    ),
    known_program(
        "fd fdfind",
        "https://github.com/sharkdp/fd",
        "-xXC exec exec-batch base-directory search-path ignore-file",
        values="detEcjS",
    ),
    known_program(
        "grep egrep fgrep zgrep ag ack",
        "https://www.gnu.org/software/grep/manual/grep.html",
        "-f file exclude-from pager path-to-ignore ackrc",
        values="eABCmdD",
    ),
    known_program(
        "rg",
        "https://github.com/BurntSushi/ripgrep/blob/master/GUIDE.md",
        "-fz pre pre-glob file ignore-file search-zip hostname-bin hyperlink-format",
        values="eABCmgtTEjMrd",
    ),
    known_program("sed gsed awk gawk mawk nawk ed ex", "https://www.gnu.org/software/sed/manual/sed.html", closed=True),
    known_program(
        "xargs parallel env sudo doas su pkexec runuser",
        "https://man7.org/linux/man-pages/man1/xargs.1.html",
        closed=True,
    ),
    known_program(
        "nice ionice nohup timeout gtimeout time watch entr setsid chroot unshare nsenter bwrap firejail flock script "
        "stdbuf taskset chrt prlimit systemd-run setarch setpriv capsh faketime unbuffer expect",
        "https://man7.org/linux/man-pages/man1/timeout.1.html",
        closed=True,
    ),
    known_program(
        "strace ltrace perf valgrind gdb lldb rr ptrace bpftrace",
        "https://man7.org/linux/man-pages/man1/strace.1.html",
        closed=True,
    ),
    known_program(
        "sh bash dash zsh ksh mksh fish csh tcsh pwsh powershell busybox toybox nu xonsh elvish",
        "https://www.gnu.org/software/bash/manual/html_node/Invoking-Bash.html",
        closed=True,
    ),
    known_program(
        "eval exec command builtin source . trap coproc function alias export set unset declare hash enable",
        "https://www.gnu.org/software/bash/manual/html_node/Bourne-Shell-Builtins.html",
        closed=True,
    ),
    known_program(
        "tmux screen zellij at batch crontab systemctl launchctl service osascript open xdg-open start dbus-send",
        "https://man.openbsd.org/tmux.1",
        closed=True,
    ),
    known_program(
        "vim vi nvim view gvim nano emacs emacsclient micro hx kak code subl less more most man info",
        "https://vimhelp.org/starting.txt.html",
        closed=True,
    ),
    known_program(
        "psql mysql mariadb sqlite mongosh mongo redis-cli duckdb cqlsh sqlplus",
        "https://www.sqlite.org/cli.html",
        closed=True,
    ),
    known_program(
        "apt apt-get dpkg yum dnf rpm pacman apk brew port snap flatpak nix nix-shell nix-env nix-build nixos-rebuild "
        "asdf mise direnv rvm rbenv pyenv nvm volta fnm",
        "https://manpages.debian.org/apt-get",
        closed=True,
    ),
    known_program(
        "tee dd install shred mkfifo mknod mount umount losetup patch split csplit truncate rename mmv",
        "https://www.gnu.org/software/coreutils/manual/coreutils.html",
        closed=True,
    ),
    known_program(
        "cp mv ln",
        "https://www.gnu.org/software/coreutils/manual/html_node/cp-invocation.html",
        "-tS target-directory suffix",
    ),
    known_program(
        "sort gsort",
        "https://www.gnu.org/software/coreutils/manual/html_node/sort-invocation.html",
        "-oT output compress-program temporary-directory files0-from",
        values="ktS",
    ),
    known_program(
        "wc du date tree stat file",
        "https://www.gnu.org/software/coreutils/manual/html_node/wc-invocation.html",
        "-osfmC files0-from set file magic-file compile output exclude-from",
    ),
    known_program(
        "jq yq gojq",
        "https://jqlang.org/manual/",
        "-fLi from-file slurpfile rawfile library-path inplace in-place split-exp",
    ),
    known_program(
        "openssl gpg ssh-keygen ssh-add age sops vault pass",
        "https://docs.openssl.org/master/man1/openssl/",
        closed=True,
    ),
    known_program(
        "ffmpeg convert magick pandoc pdflatex xelatex latex latexmk tex", "https://pandoc.org/MANUAL.html", closed=True
    ),
    known_program(
        "chmod chown chgrp touch mkdir rmdir rm",
        "https://www.gnu.org/software/coreutils/manual/html_node/chmod-invocation.html",
        "-rm reference mode",
    ),
    known_program(
        "echo printf ls cat head tail pwd true false uname whoami id which basename dirname realpath readlink seq "
        "sleep diff "
        "cmp cut tr uniq nl comm md5sum sha1sum sha256sum sha512sum cksum rev fold column expr",
        "https://www.gnu.org/software/coreutils/manual/coreutils.html",
    ),
)
