"""Interpreters, their test runners, linters and package managers: Python, JavaScript, Ruby, PHP, Perl."""

from __future__ import annotations

from holdfast.tools.known_programs.program import known_program

LANGUAGES = (
    known_program(
        "pytest py.test",
        "https://docs.pytest.org/en/stable/reference/reference.html#command-line-flags",
        "-copW basetemp rootdir confcutdir config-file override-ini junitxml junit-xml log-file pastebin debug pdbcls "
        "pyargs pythonwarnings cov-report cov-config html css json-report-file report-log resultlog alluredir tx px "
        "rsyncdir rsyncignore durations-path benchmark-json benchmark-save benchmark-storage benchmark-histogram "
        "benchmark-compare ds dc md-report-output template cache-dir testmon-datafile splits-path screenshot-dir "
        "output",
        values="kmnrcopWdD",
        exact="co collect-only cov durations durations-min pdb",
    ),
    known_program(
        "python pypy",
        "https://docs.python.org/3/using/cmdline.html",
        "-cmWXi check-hash-based-pycs settings pythonpath",
        values="cmWX",
    ),
    known_program(
        "unittest",
        "https://docs.python.org/3/library/unittest.html",
        "-st start-directory top-level-directory",
        values="kp",
    ),
    known_program(
        "coverage",
        "https://coverage.readthedocs.io/en/latest/cmd.html",
        "-odmL rcfile data-file directory context",
        words="run annotate html xml json lcov",
    ),
    known_program(
        "tox",
        "https://tox.wiki/en/latest/cli_interface.html",
        "-cxr conf workdir root toxinidir override result-json installpkg force-dep devenv req-spec setenv runner "
        "default-runner discover hashseed pre pip-pre",
        values="emfjp",
        passes="pytest",
    ),
    known_program(
        "nox",
        "https://nox.thea.codes/en/stable/usage.html",
        "-fPrdb noxfile envdir report default-venv-backend force-venv-backend force-python script-mode download-python",
        values="sekt",
        passes="pytest",
    ),
    known_program(
        "ruff", "https://docs.astral.sh/ruff/configuration/#command-line-interface", "-o config cache-dir output-file"
    ),
    known_program(
        "ty",
        "https://docs.astral.sh/ty/reference/cli/",
        "-cp config config-file project python typeshed venv extra-search-path",
    ),
    known_program(
        "mypy dmypy stubgen",
        "https://mypy.readthedocs.io/en/stable/command_line.html",
        "-mpc config-file cache-dir python-executable custom-typeshed-dir custom-typing-module junit-xml shadow-file "
        "install-types package-root any-exprs-report cobertura-xml-report html-report linecount-report "
        "linecoverage-report "
        "lineprecision-report txt-report xml-report xslt-html-report xslt-txt-report command module package "
        "find-occurrences "
        "dump-build-stats log-file perf-stats-file skip-cache-mtime-checks output",
    ),
    known_program(
        "pyright basedpyright",
        "https://microsoft.github.io/pyright/#/command-line",
        "-ptv project pythonpath venvpath venv-path typeshedpath typeshed-path createstub verifytypes writebaseline "
        "baselinefile",
    ),
    known_program(
        "black", "https://black.readthedocs.io/en/stable/usage_and_configuration/the_basics.html", "-c config code"
    ),
    known_program(
        "isort",
        "https://pycqa.github.io/isort/docs/configuration/options.html",
        "settings-path settings-file sp config-root virtual-env conda-env formatter",
    ),
    known_program(
        "flake8",
        "https://flake8.pycqa.org/en/latest/user/options.html",
        "config append-config output-file tee enable-extensions require-plugins format",
    ),
    known_program(
        "pylint",
        "https://pylint.readthedocs.io/en/stable/user_guide/usage/run.html",
        "-f rcfile init-hook load-plugins output output-format generate-rcfile generate-toml-config import-graph "
        "ext-import-graph int-import-graph",
    ),
    known_program(
        "pip pipx",
        "https://pip.pypa.io/en/stable/cli/",
        "-rcetif requirement constraint editable target root prefix index-url extra-index-url find-links log python "
        "src "
        "cache-dir config-settings report global-option build-option proxy trusted-host cert client-cert user dry-run "
        "break-system-packages",
        words="config run runpip inject",
    ),
    known_program(
        "uv",
        "https://docs.astral.sh/uv/reference/cli/",
        "-pmfstcer with with-requirements with-editable python directory project config-file env-file script "
        "gui-script "
        "module cache-dir index index-url default-index extra-index-url find-links from config-setting target prefix "
        "requirements constraints overrides editable out-dir output-file",
        words="run tool pip add init python publish self build",
    ),
    known_program("uvx pipx-run", "https://docs.astral.sh/uv/guides/tools/", closed=True),
    known_program(
        "poetry pdm pipenv hatch rye conda mamba micromamba pixi",
        "https://python-poetry.org/docs/cli/",
        "-CPpn directory project config output",
        words="run shell config self source add init exec install x fix use env",
    ),
    known_program(
        "pre-commit prek",
        "https://pre-commit.com/#command-line-interface",
        "-ct config color template",
        words="install init-templatedir try-repo autoupdate",
    ),
    known_program(
        "sphinx-build sphinx",
        "https://www.sphinx-doc.org/en/master/man/sphinx-build.html",
        "-cdDwAbM conf-dir doctree-dir define warning-file html-define builder",
    ),
    known_program("ipython jupyter bpython", "https://ipython.readthedocs.io/en/stable/", closed=True),
    known_program(
        "node nodejs tsx ts-node",
        "https://nodejs.org/api/cli.html",
        "-eprCiP eval print require import loader experimental-loader conditions env-file env-file-if-exists inspect "
        "inspect-brk inspect-wait inspect-port test-reporter test-reporter-destination test-global-setup cpu-prof "
        "cpu-prof-dir cpu-prof-name heap-prof heap-prof-dir heap-prof-name report-dir report-directory report-filename "
        "diagnostic-dir redirect-warnings trace-event-file-pattern openssl-config icu-data-dir "
        "experimental-config-file "
        "experimental-default-config-file experimental-sea-config build-sea build-snapshot build-snapshot-config "
        "snapshot-blob tls-keylog localstorage-file run heapsnapshot-signal tsconfig project compiler cwd dir prof "
        "prof-process logfile test-coverage-dir entry-url",
        exact="test",
    ),
    known_program(
        "deno",
        "https://docs.deno.com/runtime/reference/cli/",
        "-AcorWRENSI allow-all allow-run allow-write allow-read allow-env allow-net allow-sys allow-ffi allow-import "
        "allow-scripts config import-map preload require env-file cert location coverage junit-path output lock reload "
        "inspect inspect-brk v8-flags unsafely-ignore-certificate-errors",
        words="run eval install compile x serve task upgrade repl init add jupyter",
    ),
    known_program(
        "bun",
        "https://bun.sh/docs/cli/test",
        "-rcepdl preload require import config cwd env-file eval print define loader outdir outfile tsconfig-override "
        "coverage-dir reporter-outfile shell install prefer-offline main-fields extension-order inspect inspect-brk",
        exact="coverage",
        words="x exec install add create upgrade run build link init",
    ),
    known_program(
        "npm",
        "https://docs.npmjs.com/cli/using-npm/config",
        "-Cgcw prefix script-shell global globalconfig userconfig location node-options shell editor viewer browser "
        "cache "
        "tmp registry git init-module onload-script pack-destination cafile https-proxy proxy call package node-gyp "
        "python "
        "logs-dir noproxy local-address init-private install-strategy install-links workspace-update ignore-path",
        words="exec x init create innit config c set explore edit publish link ln install i add ci install-test it "
        "install-ci-test cit pkg unpublish owner token login adduser version rebuild",
        passes="jest vitest mocha",
    ),
    known_program(
        "pnpm",
        "https://pnpm.io/pnpm-cli",
        "-Ccg dir config script-shell global global-dir global-bin-dir store-dir virtual-store-dir modules-dir "
        "lockfile-dir "
        "shell-mode node-options shell-emulator use-node-version pnpmfile global-pnpmfile",
        words="dlx exec create env config install add i link publish setup patch deploy self-update",
        passes="jest vitest mocha",
    ),
    known_program(
        "yarn",
        "https://yarnpkg.com/cli",
        "-T cwd use-yarnrc script-shell modules-folder cache-folder prefix global-folder preferred-cache-folder "
        "registry "
        "link-folder link-duplicates top-level binaries-only inspect inspect-brk require",
        words="dlx exec create config set global plugin node install add link publish init import patch",
        passes="jest vitest mocha",
    ),
    known_program("npx bunx pnpx corepack", "https://docs.npmjs.com/cli/commands/npx", closed=True),
    known_program(
        "jest",
        "https://jestjs.io/docs/cli",
        "-ce config root-dir roots output-file coverage-directory cache-directory global-setup global-teardown "
        "setup-files "
        "setup-files-after-env test-runner runner resolver reporters test-results-processor transform "
        "test-environment env "
        "test-environment-options test-sequencer snapshot-serializers snapshot-resolver preset projects module-paths "
        "module-directories module-name-mapper dependency-extractor haste prettier-path watch-plugins filter globals "
        "coverage-reporters init watchman-path",
        values="tw",
        exact="coverage watch watchall",
    ),
    known_program(
        "vitest",
        "https://vitest.dev/guide/cli",
        "-cr config root dir output-file environment reporter reporters global-setup setup-files api ui browser "
        "typecheck "
        "exec-argv inspect inspect-brk snapshot-environment pool vm-memory-limit config-loader attachments-dir open "
        "merge-reports diff sequence env",
        values="tw",
        exact="run watch coverage",
    ),
    known_program(
        "mocha",
        "https://mochajs.org/running/cli/",
        "-rORun require config package opts reporter reporter-option reporter-options ui file node-option loader "
        "import "
        "inspect inspect-brk global-setup watch-files",
        values="gft",
        exact="watch",
    ),
    known_program(
        "eslint",
        "https://eslint.org/docs/latest/use/command-line-interface",
        "-cof config rulesdir plugin parser parser-options resolve-plugins-relative-to output-file cache-location "
        "cache-file format init inspect-config suppressions-location",
        values="e",
        exact="cache",
    ),
    known_program(
        "prettier biome",
        "https://prettier.io/docs/cli",
        "config config-path plugin plugin-search-dir cache-location ignore-path parser log-file",
        exact="cache",
        words="init",
    ),
    known_program(
        "tsc",
        "https://www.typescriptlang.org/docs/handbook/compiler-options.html",
        "-p project outdir outfile declarationdir rootdir rootdirs baseurl tsbuildinfofile generatetrace "
        "generatecpuprofile plugins init typeroots mapsroot sourceroot",
    ),
    known_program(
        "playwright cypress vite webpack rollup esbuild parcel next nuxt astro ava tap c8 nyc karma stylelint",
        "https://playwright.dev/docs/test-cli",
        "-corCPb config config-file output reporter reporter-options project require loader plugin outdir outfile dir "
        "import browser ui-host ui-port out-dir dist-dir cache-dir temp-dir env-file servedir inject define entry "
        "report-dir reports-dir formatter custom-formatter custom-syntax output-path",
        words="install open codegen show-report",
        passes="node",
    ),
    known_program(
        "turbo nx lerna rush",
        "https://turborepo.com/docs/reference/run",
        "cwd cache-dir env-mode remote-cache-timeout api token team profile graph global-deps root-turbo-json "
        "output-path anon-profile",
        tasks=True,
        words="exec run login link gen generate import add migrate",
        passes="jest vitest mocha",
    ),
    known_program(
        "ruby",
        "https://docs.ruby-lang.org/en/master/ruby/options_md.html",
        "-erICSxinpW require enable disable encoding",
    ),
    known_program(
        "rspec",
        "https://rspec.info/features/3-13/rspec-core/command-line/",
        "-rIOofb require options out format default-path drb drb-port init failure-exit-code bisect dry-run-file",
        values="eltPE",
        exact="fail-fast",
    ),
    known_program(
        "rake",
        "https://ruby.github.io/rake/",
        "-frIepERgG rakefile require libdir execute execute-print execute-continue rakelibdir rakelib system nosystem",
        tasks=True,
    ),
    known_program(
        "rails",
        "https://guides.rubyonrails.org/command_line.html",
        "-brO runner",
        words=(
            "runner new generate destroy console dbconsole server db credentials encrypted secrets app plugin g d c s r"
        ),
    ),
    known_program(
        "rubocop standardrb",
        "https://docs.rubocop.org/rubocop/usage/basic_usage.html",
        "-crof config require plugin out format cache-root init auto-gen-config server",
    ),
    known_program(
        "bundle bundler gem",
        "https://bundler.io/man/bundle.1.html",
        "-r gemfile path config source install-dir bindir",
        words="exec config install add console open plugin init gem push outdated",
    ),
    known_program(
        "php",
        "https://www.php.net/manual/en/features.commandline.options.php",
        "-rBRFEfcdzStae run process-code process-begin process-end file php-ini define zend-extension server docroot",
    ),
    known_program(
        "phpunit pest paratest",
        "https://docs.phpunit.de/en/12.0/textui.html",
        "-cd configuration bootstrap include-path log-junit log-otr log-teamcity log-events-text "
        "log-events-verbose-text "
        "coverage-clover coverage-openclover coverage-cobertura coverage-crap4j coverage-html coverage-php "
        "coverage-text "
        "coverage-xml coverage-filter testdox-html testdox-text cache-directory cache-result-file extension printer "
        "loader "
        "prepend generate-configuration migrate-configuration generate-baseline use-baseline atleast-version "
        "test-suffix "
        "runner phpunit tmp-dir passthru passthru-php",
        exact="testdox",
    ),
    known_program(
        "composer",
        "https://getcomposer.org/doc/03-cli.md",
        "-d working-dir repository",
        words="exec run-script run config global create-project require install update init archive",
    ),
    known_program(
        "phpstan psalm php-cs-fixer phpcs",
        "https://phpstan.org/user-guide/command-line-usage",
        "-ca configuration config autoload-file generate-baseline error-format rules standard bootstrap report-file "
        "cache-file plugin root report debug",
    ),
    known_program("perl", "https://perldoc.perl.org/perlrun", "-eEiIMmxsdDpnS"),
    known_program(
        "prove", "https://perldoc.perl.org/prove", "-eIPMmaS exec lib archive formatter source rc state harness plugin"
    ),
    known_program(
        "lua luajit tclsh wish Rscript R julia octave ghci sbcl guile racket",
        "https://www.lua.org/manual/5.4/lua.html",
        closed=True,
    ),
)
