"""The laws of files that other programs run: each is asked about, whatever the folder, the spelling and the links."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.approval.decision import Allow, Ask, Policy, decide
from holdfast.tools.approval.patterns import suggest_patterns
from holdfast.tools.builtin.edit import EditTool
from holdfast.tools.builtin.read_write import WriteTool
from holdfast.tools.workspace.autorun_files import AUTORUN_FILES, runs_by_itself
from tool_harness import planned, workspace

_ATTACKS = """
.devcontainer.json .devcontainer/devcontainer.json .mcp.json .cursor/mcp.json .cursor/hooks.json .claude/settings.json
.claude/settings.local.json my.code-workspace .zed/tasks.json .zed/settings.json .vs/tasks.vs.json .nvim.lua .nvimrc
.exrc .vimrc .woodpecker.yml .woodpecker/test.yaml .drone.yml .drone.star bitbucket-pipelines.yml
.buildkite/pipeline.yml .buildkite/hooks/command .mise.toml mise.toml mise.local.toml .config/mise/config.toml
lefthook.yml lefthook-local.yml .lefthook.toml .lefthook/pre-commit/x.sh .jj/repo/config.toml .cargo/config.toml
.cargo/config .venv/bin/activate .venv/bin/python venv/lib/python3.12/site-packages/x.pth x.pth sitecustomize.py
sub/HEAD sub/config sub/hooks/pre-commit repo.git/config repo.git/hooks/pre-push .githooks/pre-commit
.ssh/authorized_keys .ssh/rc .ssh/config authorized_keys .bash_logout .zlogout .config/fish/config.fish
fish/conf.d/x.fish .config/systemd/user/x.service x.service .config/autostart/x.desktop autostart/x.desktop
.local/bin/ls .local/share/applications/x.desktop .envrc .env .vscode/tasks.json .vscode/settings.json
.idea/runConfigurations/x.xml .idea/workspace.xml .husky/pre-commit .husky/_/h .pre-commit-config.yaml
.pre-commit-hooks.yaml .github/workflows/ci.yml .github/actions/x/action.yml .gitlab-ci.yml Jenkinsfile
Jenkinsfile.release .circleci/config.yml .gitmodules .gitattributes src/.gitattributes .travis.yml azure-pipelines.yml
azure-pipelines.yaml .azure-pipelines/x.yml .cirrus.yml appveyor.yml cloudbuild.yaml buildspec.yml
.gitea/workflows/x.yml .forgejo/workflows/x.yml .builds/x.yml .tekton/x.yaml .semaphore/semaphore.yml netlify.toml
.gemini/settings.json .codex/config.toml .kiro/hooks/x.kiro.hook .roo/mcp.json .windsurf/x opencode.json
.opencode/x.ts .aider.conf.yml .continue/config.yaml .holdfast/config.toml .tool-versions .rvmrc flake.nix shell.nix
devenv.nix .npmrc .yarnrc.yml .yarn/releases/yarn.cjs .pnpmfile.cjs bunfig.toml node_modules/.bin/eslint
node_modules/eslint/x.js rust-toolchain.toml rust-toolchain .bazelrc .mvn/extensions.xml .mvn/jvm.config
gradle/wrapper/gradle-wrapper.properties .gdbinit .lldbinit .Rprofile .pdbrc .irbrc .dir-locals.el .emacs.d/init.el
.helix/languages.toml .sublime/x.sublime-project .project .settings/x .ycm_extra_conf.py rust-analyzer.toml
.gitpod.yml .replit .codesandbox/tasks.json .idx/dev.nix .lintstagedrc.json lint-staged.config.js
.simple-git-hooks.json .overcommit.yml hk.pkl .hg/hgrc .hgrc .svn/x .lfsconfig .bashrc .bash_profile .profile .zshrc
.zshenv .zprofile .inputrc .xprofile .xinitrc .pam_environment .tmux.conf .screenrc .gnupg/gpg.conf .aws/config
.kube/config .docker/config.json .netrc .curlrc .wgetrc .lessfilter .mailcap .forward .psqlrc
Library/LaunchAgents/x.plist AGENTS.md sub/CLAUDE.md GEMINI.md .cursorrules
crontab environment.d/x.conf pip.conf .pypirc .bundle/config .gradle/init.gradle
.ghci .ocamlinit .iex.exs .erlang .octaverc .swiplrc .julia/config/startup.jl .radare2rc .byebugrc .rdbgrc
jupyter_server_config.py jupyter_notebook_config.json ipython_config.py .bsp/sbt.json hie.yaml .luarc.json .luarc.jsonc
zls.json omnisharp.json .solargraph.yml .tern-project .rbenv-vars .p10k.zsh .muttrc
"""
ATTACKS = _ATTACKS.split()

_SOURCE = """
src/app.py README.md Makefile package.json conftest.py tests/conftest.py setup.py pyproject.toml Cargo.toml build.rs
go.mod Dockerfile docker-compose.yml CMakeLists.txt build.gradle pom.xml Gemfile Rakefile tsconfig.json
eslint.config.js .eslintrc.js .prettierrc .editorconfig .gitignore .dockerignore vite.config.ts webpack.config.js
jest.config.js tox.ini config/routes.rb src/config.py src/head.py hooks/use.ts src/hooks/useState.ts env/x.py
src/environment.ts docs/AGENTS.txt CLAUDE.py app.service.ts git/notes.md .env.example docs/github.md
src/local.py update.py
requirements.txt .nvmrc gradle/libs.versions.toml pages/[id].tsx justfile noxfile.py Vagrantfile
"""
SOURCE = _SOURCE.split()


@pytest.mark.whole  # each is an attack, and cheap
@pytest.mark.parametrize("path", ATTACKS)
def test_what_others_run_is_asked_about(path: str, tmp_path: Path) -> None:
    assert runs_by_itself(path)
    plan = planned(WriteTool(workspace(tmp_path)), path=path, content="x")
    for mode in ("ask", "accept-edits"):
        decision = decide(plan, Policy(mode))
        assert isinstance(decision, Ask)
        assert "by themselves" in decision.why
    assert suggest_patterns(plan).patterns == ()


@pytest.mark.parametrize("path", SOURCE)
def test_the_source_of_the_project_is_not(path: str, tmp_path: Path) -> None:
    plan = planned(WriteTool(workspace(tmp_path)), path=path, content="x")
    assert decide(plan, Policy("accept-edits")) == Allow()


@given(
    path=st.sampled_from(ATTACKS),
    above=st.sampled_from(["", "a/", "a/b/"]),
    place=st.integers(0, 3),
    spelt=st.sampled_from(["upper", "dot", "dots", "space", "stream", "hidden", "kelvin"]),
)
def test_whatever_the_folder_and_the_spelling(path: str, above: str, place: int, spelt: str) -> None:
    parts = path.split("/")
    at = place % len(parts)
    name = parts[at]
    parts[at] = {
        "upper": name.upper(),
        "dot": f"{name}.",
        "dots": f"{name}. ..",
        "space": f"{name} ",
        "stream": f"{name}::$DATA",
        "hidden": f"{name[:2]}\u200c{name[2:]}\ufeff",
        "kelvin": name.replace("k", "\N{KELVIN SIGN}"),
    }[spelt]
    assert runs_by_itself(above + "/".join(parts))


@pytest.mark.parametrize("path", [".git", ".git/config", "a/.git/hooks/x", "GIT~1/config", ".git::$INDEX_ALLOCATION/x"])
def test_the_names_of_a_git_folder(path: str) -> None:
    assert runs_by_itself(path)


def test_each_row_says_where_that_stands_and_is_found() -> None:
    for row in AUTORUN_FILES:
        assert row.source.startswith("https://") or row.program == "holdfast"
        names = [*row.folders.split(), *row.files.split(), *row.below.split()]
        assert names
        assert names == [name.casefold() for name in names]
        for name in row.folders.split():
            assert runs_by_itself(f"a/{name.replace('*', 'x')}/b")
        for name in row.files.split():
            assert runs_by_itself(f"a/{name.replace('*', 'x')}")
        for path in row.below.split():
            assert runs_by_itself(f"a/{path}/b")
    assert not runs_by_itself("")


def test_a_link_is_asked_about_by_either_name(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    root = space.root
    for folder in ("scripts", ".git/hooks", "sub/deep", "tools/hooks"):
        (root / folder).mkdir(parents=True)
    for name in ("env.sh", "scripts/commit.sh", "scripts/free.sh", "sub/rc"):
        (root / name).write_text("old\n")
    (root / ".envrc").symlink_to("env.sh")
    (root / ".git/hooks/pre-commit").symlink_to("../../scripts/commit.sh")
    (root / ".husky").symlink_to("tools/hooks")
    (root / "sub/.nvim.lua").symlink_to("rc")
    (root / "docs").symlink_to(".husky")
    (root / "harmless").symlink_to("scripts")
    for path, name in [
        (".envrc", ".envrc"),
        ("env.sh", ".envrc"),
        ("./sub/../.envrc", ".envrc"),
        (str(root / ".envrc"), ".envrc"),
        ("scripts/commit.sh", ".git/hooks/pre-commit"),
        ("harmless/commit.sh", ".git/hooks/pre-commit"),
        ("tools/hooks/x.sh", ".husky"),
        ("sub/rc", "sub/.nvim.lua"),
        ("docs/x", ".husky"),
    ]:
        plan = planned(WriteTool(space), path=path, content="new\n")
        decision = decide(plan, Policy("accept-edits"))
        assert isinstance(decision, Ask), path
        assert plan.known_as == name
        assert f"by themselves (as {name!r})." in decision.why
        assert suggest_patterns(plan).patterns == ()
    verdict = decide(planned(EditTool(space), path="env.sh", old="old", new="new"), Policy("accept-edits"))
    assert isinstance(verdict, Ask)
    for path in ("scripts/free.sh", "harmless/free.sh", "sub/deep/x", "tools/x", "tools/hooksx"):
        assert decide(planned(WriteTool(space), path=path, content="x"), Policy("accept-edits")) == Allow(), path
