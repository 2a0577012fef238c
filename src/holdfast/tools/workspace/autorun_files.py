"""Files that other programs run, or take programs from, without the user starting them: a table and its lookup.

It contains what runs when a folder is entered, opened, committed in, pushed or logged in to, and what tells a user's
program which other programs to run. It does not contain the project's source, which runs when the user runs the
project: `Makefile`, `package.json`, `conftest.py`, `setup.py`, `Dockerfile`, linter and test configs.

Laws (`tests/tools/workspace/test_autorun_laws.py`): each row is found in any folder, in every spelling that a disk may
treat as the same name.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cache
from itertools import pairwise
from unicodedata import category, normalize

import msgspec


class Autorun(msgspec.Struct, frozen=True):
    """What one program runs or obeys, as `source` documents; names in lower case, `*` for any characters.

    `folders` with all their content, `files` in any folder, `below` the end of a path, `FOLDER/NAME`.
    """

    program: str
    source: str
    folders: str = ""
    files: str = ""
    below: str = ""


_HOOKS = (
    "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg "
    "post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive "
    "post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate "
    "fsmonitor-watchman post-index-change"
)

AUTORUN_FILES = (
    # Version control: hooks, filters, and settings that name programs. A bare repository needs only HEAD and config.
    Autorun("git", "https://git-scm.com/docs/githooks", ".git *.git .githooks .git-hooks", _HOOKS),
    Autorun("git", "https://git-scm.com/docs/git-config#_files", "", ".gitconfig config config.worktree"),
    Autorun("git", "https://git-scm.com/docs/gitrepository-layout", "", "head commondir gitdir"),
    Autorun("git", "https://git-scm.com/docs/gitattributes", "", ".gitattributes .gitmodules", "info/attributes"),
    Autorun("git lfs", "https://github.com/git-lfs/git-lfs/blob/main/docs/man/git-lfs-config.adoc", "", ".lfsconfig"),
    Autorun("jj", "https://docs.jj-vcs.dev/latest/config/", ".jj"),
    Autorun("Mercurial", "https://www.mercurial-scm.org/help/topics/config", ".hg", ".hgrc hgrc"),
    Autorun("Sapling", "https://sapling-scm.com/docs/introduction/", ".sl"),
    Autorun("Subversion", "https://svnbook.red-bean.com/en/1.7/svn.advanced.confarea.html", ".svn .subversion"),
    Autorun("Bazaar", "https://www.breezy-vcs.org/developers/configuration.html", ".bzr"),
    Autorun("repo", "https://gerrit.googlesource.com/git-repo/+/HEAD/docs/repo-hooks.md", ".repo"),
    Autorun("husky", "https://typicode.github.io/husky/how-to.html", ".husky", ".huskyrc*"),
    Autorun("pre-commit", "https://pre-commit.com/", "", ".pre-commit-config.y*ml .pre-commit-hooks.y*ml prek.toml"),
    Autorun("lefthook", "https://lefthook.dev/configuration", ".lefthook .lefthook-local", "lefthook*.* .lefthook*.*"),
    Autorun("lint-staged", "https://github.com/lint-staged/lint-staged", "", ".lintstagedrc* lint-staged.config.*"),
    Autorun("simple-git-hooks", "https://github.com/toplenboren/simple-git-hooks", "", "*simple-git-hooks.*"),
    Autorun("overcommit", "https://github.com/sds/overcommit", "", ".overcommit.yml"),
    Autorun("CaptainHook", "https://docs.captainhook.info/", "", "captainhook.json"),
    Autorun("GrumPHP", "https://github.com/phpro/grumphp", "", "grumphp.y*ml grumphp.dist.y*ml grumphp.y*ml.dist"),
    Autorun("hk", "https://hk.jdx.dev/", "", "hk.pkl"),
    # CI and deployment: a server runs it on a push, with its secrets.
    Autorun("GitHub", "https://docs.github.com/en/actions/writing-workflows", ".github"),
    Autorun("GitLab", "https://docs.gitlab.com/ci/yaml/", ".gitlab", "*.gitlab-ci.y*ml"),
    Autorun("Gitea, Forgejo", "https://forgejo.org/docs/latest/user/actions/", ".gitea .forgejo"),
    Autorun("CircleCI", "https://circleci.com/docs/configuration-reference/", ".circleci"),
    Autorun("Travis CI", "https://docs.travis-ci.com/", "", ".travis.y*ml"),
    Autorun(
        "Azure Pipelines",
        "https://learn.microsoft.com/azure/devops/pipelines/yaml-schema/",
        ".azure-pipelines .azuredevops",
        "azure-pipelines*.y*ml",
    ),
    Autorun("Jenkins", "https://www.jenkins.io/doc/book/pipeline/jenkinsfile/", "", "jenkinsfile* *.jenkinsfile"),
    Autorun("Woodpecker", "https://woodpecker-ci.org/docs/usage/intro", ".woodpecker", ".woodpecker.y*ml"),
    Autorun("Drone", "https://docs.drone.io/pipeline/overview/", "", ".drone.*"),
    Autorun("Bitbucket", "https://support.atlassian.com/bitbucket-cloud/", "", "bitbucket-pipelines.y*ml"),
    Autorun("Buildkite", "https://buildkite.com/docs/pipelines", ".buildkite", "buildkite.y*ml"),
    Autorun("Cirrus CI", "https://cirrus-ci.org/guide/writing-tasks/", "", ".cirrus.*"),
    Autorun("AppVeyor", "https://www.appveyor.com/docs/appveyor-yml/", "", "appveyor.y*ml .appveyor.y*ml"),
    Autorun("Semaphore", "https://docs.semaphoreci.com/", ".semaphore"),
    Autorun("Codemagic", "https://docs.codemagic.io/yaml-basic/yaml-getting-started/", "", "codemagic.y*ml"),
    Autorun("TeamCity", "https://www.jetbrains.com/help/teamcity/kotlin-dsl.html", ".teamcity"),
    Autorun("Google Cloud Build", "https://cloud.google.com/build/docs/", "", "cloudbuild*.y*ml cloudbuild*.json"),
    Autorun("AWS CodeBuild", "https://docs.aws.amazon.com/codebuild/", "", "buildspec*.y*ml appspec.y*ml amplify.y*ml"),
    Autorun("Tekton", "https://pipelinesascode.com/docs/", ".tekton"),
    Autorun("SourceHut", "https://man.sr.ht/builds.sr.ht/", ".builds", ".build.yml"),
    Autorun("Read the Docs", "https://docs.readthedocs.com/platform/stable/config-file/", "", ".readthedocs.y*ml"),
    Autorun("Netlify", "https://docs.netlify.com/configure-builds/file-based-configuration/", "", "netlify.toml"),
    Autorun("Vercel", "https://vercel.com/docs/project-configuration", ".vercel", "vercel.json"),
    Autorun("Render", "https://render.com/docs/blueprint-spec", "", "render.yaml"),
    Autorun("Heroku", "https://devcenter.heroku.com/articles/procfile", "", "procfile heroku.yml"),
    Autorun("Renovate", "https://docs.renovatebot.com/configuration-options/", "", ".renovaterc* renovate.json*"),
    Autorun("Mergify", "https://docs.mergify.com/", ".mergify", ".mergify.yml"),
    # Editors: tasks, interpreters and settings that apply when the folder is opened.
    Autorun("VS Code", "https://code.visualstudio.com/docs/editor/workspace-trust", ".vscode", "*.code-workspace"),
    Autorun("JetBrains", "https://www.jetbrains.com/help/idea/project-security.html", ".idea .fleet .run", "*.iml"),
    Autorun("Visual Studio", "https://learn.microsoft.com/visualstudio/ide/customize-build-and-debug-tasks", ".vs"),
    Autorun("Zed", "https://zed.dev/docs/tasks", ".zed"),
    Autorun("Helix", "https://docs.helix-editor.com/configuration.html", ".helix"),
    Autorun(
        "Vim", "https://vimhelp.org/starting.txt.html#.exrc", ".vim", ".exrc _exrc *.vimrc *_vimrc *.gvimrc .lvimrc"
    ),
    Autorun("Neovim", "https://neovim.io/doc/user/options.html#'exrc'", "", ".nvim.lua .nvimrc"),
    Autorun(
        "Emacs", "https://www.gnu.org/software/emacs/manual/html_node/emacs/", ".emacs.d", ".emacs .dir-locals*.el"
    ),
    Autorun("Sublime Text", "https://www.sublimetext.com/docs/projects.html", "", "*.sublime-project"),
    Autorun("Eclipse", "https://help.eclipse.org/", ".settings .externaltoolbuilders", ".project"),
    Autorun("Nova", "https://docs.nova.app/", ".nova"),
    Autorun("Theia", "https://theia-ide.org/docs/", ".theia"),
    Autorun("YouCompleteMe", "https://github.com/ycm-core/YouCompleteMe", "", ".ycm_extra_conf.py"),
    Autorun("rust-analyzer", "https://rust-analyzer.github.io/book/configuration.html", "", "*rust-analyzer.toml"),
    Autorun("Dev Containers", "https://containers.dev/implementors/spec/", ".devcontainer", ".devcontainer.json"),
    Autorun("Gitpod", "https://www.gitpod.io/docs/classic/user/references/gitpod-yml", "", ".gitpod.*"),
    Autorun("CodeSandbox", "https://codesandbox.io/docs/learn/environment/tasks", ".codesandbox"),
    Autorun("Replit", "https://docs.replit.com/replit-app/configuration", "", ".replit replit.nix"),
    Autorun("Firebase Studio", "https://firebase.google.com/docs/studio/customize-workspace", ".idx"),
    # Agents: their hooks, servers and permissions, and holdfast's own.
    Autorun("holdfast", "docs/how-to/headless.md", ".holdfast"),
    Autorun(
        "instructions of agents",
        "https://agents.md/",
        "",
        "agents.md agents.override.md agents.local.md claude.md claude.local.md gemini.md qwen.md "
        "copilot-instructions.md .cursorrules .windsurfrules .clinerules .roorules .rules codex.md crush.md warp.md "
        "system.md",
    ),
    Autorun("MCP", "https://modelcontextprotocol.io/docs/develop/connect-local-servers", "", ".mcp.json mcp.json"),
    Autorun("Claude Code", "https://docs.anthropic.com/en/docs/claude-code/settings", ".claude", ".claude.json"),
    Autorun("Cursor", "https://cursor.com/docs/context/mcp", ".cursor"),
    Autorun("Codex", "https://github.com/openai/codex/blob/main/docs/config.md", ".codex"),
    Autorun("Gemini CLI", "https://github.com/google-gemini/gemini-cli/tree/main/docs", ".gemini .qwen"),
    Autorun("Windsurf", "https://docs.windsurf.com/", ".windsurf .codeium"),
    Autorun("Cline, Roo, Kilo", "https://docs.cline.bot/", ".cline .clinerules .roo .kilocode", ".roomodes kilo.json*"),
    Autorun("opencode", "https://opencode.ai/docs/config/", ".opencode", "opencode.json*"),
    Autorun("Crush", "https://github.com/charmbracelet/crush", ".crush", "crush.json .crush.json"),
    Autorun("Kiro, Amazon Q", "https://kiro.dev/docs/hooks/", ".kiro .amazonq"),
    Autorun("Continue", "https://docs.continue.dev/", ".continue", ".continuerc.json"),
    Autorun("aider", "https://aider.chat/docs/config/aider_conf.html", "", ".aider.conf.y*ml"),
    Autorun("Copilot", "https://docs.github.com/en/copilot/how-tos/copilot-cli", ".copilot"),
    Autorun("Junie", "https://www.jetbrains.com/help/junie/", ".junie"),
    Autorun("Augment", "https://docs.augmentcode.com/", ".augment"),
    Autorun("Factory", "https://docs.factory.ai/", ".factory"),
    Autorun("Amp", "https://ampcode.com/manual", ".amp .agents"),
    Autorun("goose", "https://block.github.io/goose/docs/", ".goose", ".goosehints"),
    Autorun("Trae", "https://docs.trae.ai/", ".trae"),
    Autorun("pi", "https://github.com/badlogic/pi-mono", ".pi"),
    Autorun("Vibe", "https://github.com/mistralai/mistral-vibe", ".vibe"),
    # Environments: what a shell runs on entering a folder, and what selects the program of a tool.
    Autorun("direnv", "https://direnv.net/man/direnv.1.html", ".direnv", ".envrc .env"),
    Autorun("autoenv", "https://github.com/hyperupcall/autoenv", "", ".autoenv* .env.leave"),
    Autorun("mise", "https://mise.jdx.dev/configuration.html", ".mise mise", "mise*.toml .mise*.toml .rtx*.toml"),
    Autorun("asdf", "https://asdf-vm.com/manage/configuration.html", "", ".tool-versions .asdfrc"),
    Autorun("Nix", "https://nix.dev/", ".flox", "flake.nix shell.nix devenv.* devbox.json"),
    Autorun("rvm", "https://rvm.io/workflow/projects", ".rvm", ".rvmrc"),
    Autorun(
        "Python",
        "https://docs.python.org/3/library/site.html",
        "site-packages",
        "*.pth sitecustomize.py usercustomize.py",
    ),
    Autorun(
        "virtual environments", "https://docs.python.org/3/library/venv.html", ".venv venv .tox .nox", "pyvenv.cfg"
    ),
    Autorun(
        "pip",
        "https://pip.pypa.io/en/stable/topics/configuration/",
        ".pip",
        "pip.conf pip.ini .pypirc .pydistutils.cfg",
    ),
    Autorun(
        "pdb", "https://docs.python.org/3/library/pdb.html", ".ipython .jupyter", ".pdbrc* .pythonrc* .pythonstartup"
    ),
    Autorun("npm", "https://docs.npmjs.com/cli/configuring-npm/npmrc", "node_modules", ".npmrc npmrc"),
    Autorun("Yarn", "https://yarnpkg.com/configuration/yarnrc", ".yarn", ".yarnrc .yarnrc.yml .pnp.*"),
    Autorun("pnpm", "https://pnpm.io/pnpmfile", "", ".pnpmfile.*"),
    Autorun("Bun", "https://bun.sh/docs/runtime/bunfig", "", "bunfig.toml .bunfig.toml"),
    Autorun("Cargo", "https://doc.rust-lang.org/cargo/reference/config.html", ".cargo"),
    Autorun(
        "rustup", "https://rust-lang.github.io/rustup/overrides.html", ".rustup", "rust-toolchain rust-toolchain.toml"
    ),
    Autorun("Bazel", "https://bazel.build/run/bazelrc", "", ".bazelrc bazel.rc *.bazelrc .bazelversion .bazeliskrc"),
    Autorun("Maven", "https://maven.apache.org/configure.html", ".mvn .m2", ".mavenrc"),
    Autorun(
        "Gradle",
        "https://docs.gradle.org/current/userguide/gradle_wrapper.html",
        ".gradle",
        "init.gradle*",
        "gradle/wrapper gradle/init.d",
    ),
    Autorun("sbt", "https://www.scala-sbt.org/1.x/docs/Command-Line-Reference.html", "", ".sbtopts .jvmopts .sbtrc"),
    Autorun("Bundler", "https://bundler.io/man/bundle-config.1.html", ".bundle"),
    Autorun("Ruby, R, PHP", "https://rdrr.io/r/base/Startup.html", "", ".irbrc .pryrc .rprofile .renviron .user.ini"),
    Autorun(
        "gdb, lldb", "https://sourceware.org/gdb/current/onlinedocs/gdb.html/", "", ".gdbinit .gdbearlyinit .lldbinit*"
    ),
    # Home folder: what a login, a shell or a program started in it reads.
    Autorun(
        "shells",
        "https://www.gnu.org/software/bash/manual/html_node/Bash-Startup-Files.html",
        ".bashrc.d .bash_completion.d .profile.d .oh-my-zsh .zsh .oh-my-bash",
        ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bash_completion .profile .login .logout "
        ".zshrc .zshenv .zprofile .zlogin .zlogout .cshrc .tcshrc .kshrc .mkshrc .shrc .shinit .xonshrc .xprofile "
        ".inputrc .xinitrc .xsession* .xserverrc .pam_environment .environment .hushlogin",
    ),
    Autorun("fish", "https://fishshell.com/docs/current/language.html#configuration", "", "config.fish", "fish/conf.d"),
    Autorun(
        "systemd",
        "https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html",
        "environment.d",
        "*.service *.socket *.timer *.path",
        "systemd/user",
    ),
    Autorun(
        "desktops",
        "https://specifications.freedesktop.org/autostart-spec/latest/",
        "autostart .config .local",
        "*.desktop .xbindkeysrc .dmrc",
    ),
    Autorun(
        "macOS",
        "https://developer.apple.com/library/archive/documentation/MacOSX/Conceptual/BPSystemStartup/",
        "launchagents launchdaemons loginhook",
    ),
    Autorun(
        "cron",
        "https://man7.org/linux/man-pages/man5/crontab.5.html",
        "cron.d cron.hourly cron.daily cron.weekly cron.monthly crontabs",
        "crontab .crontab",
    ),
    Autorun(
        "OpenSSH",
        "https://man.openbsd.org/sshd#FILES",
        ".ssh",
        "authorized_keys* ssh_config sshd_config .rhosts .shosts",
    ),
    Autorun("GnuPG", "https://www.gnupg.org/documentation/manuals/gnupg/", ".gnupg .password-store"),
    Autorun(
        "cloud tools",
        "https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins",
        ".kube .aws .azure .gcloud .docker .terraform.d",
        ".terraformrc .boto .netrc _netrc",
    ),
    Autorun(
        "terminals",
        "https://man.openbsd.org/tmux.1",
        ".tmux .byobu .screen",
        ".tmux.conf .screenrc .wezterm.lua .hyper.js",
    ),
    Autorun(
        "pagers",
        "https://man7.org/linux/man-pages/man1/less.1.html",
        "",
        ".lessfilter .lesskey .lesshst .mailcap .forward .procmailrc",
    ),
    Autorun(
        "curl, wget",
        "https://curl.se/docs/manpage.html",
        "",
        ".curlrc _curlrc .wgetrc .ackrc .psqlrc .sqliterc .my.cnf .mylogin.cnf",
    ),
    Autorun("Perl", "https://perldoc.perl.org/perlrun", ".cpan .cpanm", ".perldb .replyrc"),
    # Interactive programs and debuggers that read a file of the folder they start in.
    Autorun("GHCi", "https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html", ".ghc", ".ghci"),
    Autorun("OCaml", "https://ocaml.org/manual/toplevel.html", "", ".ocamlinit"),
    Autorun("Elixir, Erlang", "https://hexdocs.pm/iex/IEx.html#module-the-iex-exs-file", "", ".iex.exs .erlang"),
    Autorun("Octave, Prolog", "https://docs.octave.org/latest/Startup-Files.html", "", ".octaverc .swiplrc"),
    Autorun("Julia", "https://docs.julialang.org/en/v1/manual/command-line-interface/", ".julia"),
    Autorun("radare2", "https://book.rada.re/configuration/files.html", "", ".radare2rc"),
    Autorun("Ruby debuggers", "https://github.com/ruby/debug#initial-scripts", "", ".byebugrc .rdbgrc .rdebugrc"),
    Autorun(
        "Jupyter",
        "https://jupyter-server.readthedocs.io/en/latest/users/configuration.html",
        "",
        "jupyter_*config.py jupyter_*config.json ipython_*config.py",
    ),
    # Language servers: an editor starts them with the folder, and these files name programs and plugins.
    Autorun("build servers", "https://build-server-protocol.github.io/docs/overview/server-discovery", ".bsp"),
    Autorun("Haskell", "https://haskell-language-server.readthedocs.io/en/latest/configuration.html", "", "hie.yaml"),
    Autorun("Lua", "https://luals.github.io/wiki/plugins/", "", ".luarc.json*"),
    Autorun("Zig, C#", "https://zigtools.org/zls/configure/", "", "zls.json omnisharp.json"),
    Autorun("Ruby, JavaScript", "https://solargraph.org/guides/configuration", "", ".solargraph.yml .tern-project"),
    Autorun("rbenv-vars", "https://github.com/rbenv/rbenv-vars", "", ".rbenv-vars"),
    Autorun("zsh frameworks", "https://zimfw.sh/", ".zplug", ".p10k.zsh .zimrc .zpreztorc .antigenrc .zshrc.local"),
    Autorun("mutt", "https://neomutt.org/guide/configuration", ".mutt", ".muttrc .neomuttrc"),
)


def _expression(names: str) -> re.Pattern[str]:
    return re.compile("|".join(translate(name) for name in names.split()))


@cache
def _names() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what folders and what files are called; compiled when a path is first looked up, as it takes 10 ms."""
    folders = _expression(" ".join(each.folders for each in AUTORUN_FILES))
    return folders, _expression(" ".join(each.files for each in AUTORUN_FILES))


_BELOW = frozenset(tuple(path.split("/")) for each in AUTORUN_FILES for path in each.below.split())


def runs_by_itself(path: str) -> bool:
    """Return whether another program would run the file, or take programs from it, by itself."""
    parts = [_file_system_form(part) for part in path.split("/")]
    folders, files = _names()
    if files.match(parts[-1]) or any(folders.match(part) for part in parts):
        return True
    return any((above, below) in _BELOW for above, below in pairwise(parts))


def _file_system_form(name: str) -> str:
    """Return a name in the form in which the most tolerant file systems compare it: case, trailing dots, streams.

    Some treat `.GIT`, `.git.`, `.git::$INDEX_ALLOCATION`, `GIT~1` and a `.git` with invisible characters alike.
    """
    visible = "".join(each for each in normalize("NFC", name.casefold()) if category(each) != "Cf")
    plain = visible.partition(":")[0].rstrip(". ") or visible
    return ".git" if re.fullmatch(r"git~\d", plain) else plain
