"""Programs that build, and compilers: make, cargo, go, gradle and their like."""

from __future__ import annotations

from holdfast.tools.known_programs.program import known_program

BUILDERS = (
    known_program(
        "make gmake",
        "https://www.gnu.org/software/make/manual/html_node/Options-Summary.html",
        "-fCIE file makefile directory include-dir eval",
        values="fCIEoWjlO",
        tasks=True,
    ),
    known_program("bmake pmake", "https://man.freebsd.org/cgi/man.cgi?make(1)", "-fCmIVvDEd", tasks=True),
    known_program("ninja samu", "https://ninja-build.org/manual.html", "-Cftd", values="jklw", tasks=True),
    known_program(
        "cmake",
        "https://cmake.org/cmake/help/latest/manual/cmake.1.html",
        "-PCEDUSBGTA install prefix toolchain preset open graphviz trace-redirect trace-source profiling-output "
        "target component find-package system-information project-file install-prefix debugger-pipe debugger-dap-log",
        exact="config parallel",
        tasks=True,
    ),
    known_program(
        "ctest",
        "https://cmake.org/cmake/help/latest/manual/ctest.1.html",
        "-SDOTM script script-new-process dashboard output-log test-dir build-and-test build-makeprogram build-exe-dir "
        "build-run-dir test-command output-junit resource-spec-file tests-from-file preset extra-submit build-config",
        values="jRELICU",
        exact="parallel verbose",
    ),
    known_program(
        "meson",
        "https://mesonbuild.com/Commands.html",
        "-CD wrap wrapper gdb gdb-path setup logbase native-file cross-file prefix destdir backend",
        words="setup configure install init dist devenv wrap",
    ),
    known_program(
        "bazel bazelisk",
        "https://bazel.build/reference/command-line-reference",
        "run-under bazelrc output-base output-user-root script-path action-env test-env host-action-env "
        "override-repository "
        "override-module profile workspace-status-command config strategy spawn-strategy build-event-json-file "
        "build-event-text-file build-event-binary-file symlink-prefix package-path server-javabase host-jvm-args "
        "extra-toolchains platforms remote-executor remote-cache disk-cache repository-cache registry explain",
        words="run fetch sync shutdown mobile-install",
        tasks=True,
    ),
    known_program("buck buck2", "https://buck2.build/docs/users/commands/", "-c config config-file out", tasks=True),
    known_program(
        "just",
        "https://just.systems/man/en/",
        "-fdceE justfile working-directory shell shell-arg set command chooser dotenv-path dotenv-filename edit "
        "choose cygpath tempdir init global-justfile",
        tasks=True,
    ),
    known_program(
        "task", "https://taskfile.dev/docs/reference/cli", "-tdgo taskfile dir global output init", tasks=True
    ),
    known_program(
        "scons",
        "https://scons.org/doc/production/HTML/scons-man.html",
        "-fCDYIu file makefile directory sconstruct site-dir include-dir repository srcdir profile",
        tasks=True,
    ),
    known_program(
        "cargo",
        "https://doc.rust-lang.org/cargo/commands/cargo.html",
        "-CZ manifest-path config target-dir target lockfile-path artifact-dir out-dir logfile root path git registry "
        "index",
        values="pFjCZ",
        words="install uninstall login logout publish owner yank new init fix add remove vendor package",
    ),
    known_program(
        "rustc",
        "https://doc.rust-lang.org/rustc/command-line-arguments.html",
        "-oCLlZ out-dir codegen emit extern sysroot remap-path-prefix",
    ),
    known_program("rustfmt", "https://github.com/rust-lang/rustfmt", "config config-path emit print-config"),
    known_program("rustup", "https://rust-lang.github.io/rustup/", closed=True),
    known_program(
        "go",
        "https://pkg.go.dev/cmd/go",
        "exec o toolexec c C modfile overlay outputdir coverprofile cpuprofile memprofile blockprofile mutexprofile "
        "trace "
        "vettool pkgdir gcflags ldflags asmflags gccgoflags compiler pgo args fuzzcachedir workfile modcacherw "
        "buildmode",
        words="run install get generate env tool work mod clean fix telemetry bug",
        single=True,
    ),
    known_program("gofmt goimports", "https://pkg.go.dev/cmd/gofmt", "cpuprofile memprofile r", single=True),
    known_program(
        "golangci-lint",
        "https://golangci-lint.run/docs/configuration/cli/",
        "-c config path-prefix cpu-profile-path mem-profile-path trace-path out-format",
        words="custom cache",
    ),
    known_program(
        "gradle gradlew",
        "https://docs.gradle.org/current/userguide/command_line_interface.html",
        "-DPIbcpgFM init-script build-file settings-file project-dir gradle-user-home include-build project-cache-dir "
        "system-prop project-prop scan write-locks update-locks write-verification-metadata",
        values="x",
        tasks=True,
    ),
    known_program(
        "mvn mvnw mvnd",
        "https://maven.apache.org/ref/current/maven-embedder/cli.html",
        "-Dfstlbg define file settings global-settings toolchains global-toolchains log-file builder install-settings",
        values="pPT",
        tasks=True,
    ),
    known_program(
        "ant",
        "https://ant.apache.org/manual/running.html",
        "f file buildfile lib logger listener logfile l propertyfile inputhandler main s find autoproxy",
        single=True,
        tasks=True,
    ),
    known_program("sbt lein mill bleep", "https://www.scala-sbt.org/1.x/docs/Command-Line-Reference.html", closed=True),
    known_program(
        "java javac kotlinc kotlin scala scalac groovy jshell",
        "https://docs.oracle.com/en/java/javase/21/docs/specs/man/java.html",
        closed=True,
    ),
    known_program(
        "dotnet msbuild",
        "https://learn.microsoft.com/dotnet/core/tools/dotnet-test",
        "-oapsdlr output artifacts-path property settings test-adapter-path diag results-directory logger collect "
        "project "
        "configfile source tool-path bl binarylogger distributedlogger dl fl flp filelogger fileloggerparameters t "
        "target "
        "tl pp preprocess getproperty environment os arch sdk use-current-runtime interactive",
        exact="no-restore no-build nologo",
        words="run exec tool new add nuget msbuild script workload dev-certs user-secrets publish pack sln remove",
    ),
    known_program(
        "swift xcodebuild",
        "https://docs.swift.org/swiftpm/documentation/packagemanagerdocs/",
        "-CI package-path scratch-path build-path cache-path config-path security-path swift-sdks-path toolchain "
        "toolset "
        "Xswiftc Xcc Xlinker Xcxx xunit-output disable-sandbox derivedDataPath resultBundlePath project xcconfig",
        words="run package",
    ),
    known_program("zig nim crystal v odin", "https://ziglang.org/documentation/master/", closed=True),
    known_program("mix elixir iex rebar3 erl", "https://hexdocs.pm/mix/Mix.html", closed=True),
    known_program("stack cabal ghc runghc", "https://docs.haskellstack.org/en/stable/", closed=True),
    known_program(
        "dart flutter",
        "https://dart.dev/tools/dart-test",
        "-c packages coverage file-reporter test-runner configuration enable-vm-service pub-serve total-shards "
        "dart-define-from-file",
        words="run compile create pub build",
        exact="concurrency color",
    ),
    known_program(
        "bats shellspec shunit2",
        "https://bats-core.readthedocs.io/en/stable/usage.html",
        "-o output report-formatter formatter gather-test-outputs-in setup-suite-file tempdir no-tempdir-cleanup "
        "code-quote-style",
    ),
    known_program(
        "gcc g++ cc c++ clang clang++ ld as ar tcc nvcc",
        "https://gcc.gnu.org/onlinedocs/gcc/Overall-Options.html",
        closed=True,
    ),
    known_program(
        "clang-format clang-tidy",
        "https://clang.llvm.org/docs/ClangFormat.html",
        "-p style config config-file load export-fixes vfsoverlay extra-arg extra-arg-before files assume-filename "
        "fallback-style store-check-profile",
    ),
)
