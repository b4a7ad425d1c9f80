"""How a tool that no table knows is named: by ordinary words alone, never by a name that may be somebody's. Pure.

The names of MCP servers and of people's own tools often are a customer's, a team's or a host's. So a server is named only
if everybody knows it (`SERVERS`), and of a tool's name only the ordinary words are kept (`_WORDS`):
A program likewise bears its own name only if everybody has it (`PROGRAMS`); any other is ``run``, with an ordinary verb
``run-deploy``.
``mcp__github__create_issue`` is ``github-create_issue``, ``mcp__acme-corp__query_acme_orders`` is ``mcp-query_orders``, and
a tool without an ordinary word is ``mcp-tool`` or ``tool``. `actions:` in the config gives a tool a name of its own.
"""

from __future__ import annotations

import re

from instinct_git.core.shell import split_words

SERVERS = frozenset(
    split_words("""
airtable android-mcp apify argocd asana atlassian auth0 aws-docs azure basic-memory beads bigquery bitbucket box brave-search
browser-tools browserbase browsermcp buildkite canva chroma chrome-devtools circleci clickhouse clickup cloudflare codex
confluence context7 convex copilot datadog dbhub deepwiki desktop-commander discord docker dropbox duckdb dynatrace
elasticsearch elevenlabs everything exa excel fetch figma filesystem firebase firecrawl gcloud gdrive git github gitlab gmail
google-calendar google-drive google-maps grafana graphiti honeycomb hubspot huggingface ide instinct intercom ios-simulator
jenkins jetbrains jira kagi kubernetes langfuse launchdarkly linear magic mapbox markitdown mem0 memory microsoft-docs miro
monday mongodb mysql n8n neo4j neon netlify newrelic notion obsidian octocode onedrive openmemory pagerduty paypal perplexity
pinecone planetscale playwright plaid postgres postgresql posthog postman prisma puppeteer qdrant railway redis render repomix
resend salesforce semgrep sentry sequential-thinking sequentialthinking serena shadcn sharepoint shopify slack snowflake
snyk sonarqube spotify sqlite square stripe supabase tavily task-master teams telegram terraform time todoist trello twilio
unity vercel weaviate webflow whatsapp wordpress xcodebuild youtube zapier zendesk zoom
""")
)
"""MCP servers that everybody knows, by their usual names."""

PROGRAMS = frozenset(
    split_words("""
7z adb aider alembic ansible ansible-galaxy ansible-lint ansible-playbook ant apk apt apt-cache apt-get argocd aria2c asciidoctor astro
at autoconf automake aws az base32 base64 bazel bazelisk bc bd bison brew btop buf bump2version bumpversion bundle bunzip2 bzip2
c++filt cabal caddy cargo cdk certbot changeset chezmoi chgrp chmod chown chroot chsh clang clang++ claude clojure cloudflared cmp
code codex column comm composer conan conda conftest consul convert copier corepack cosign cp cpan cpio crane crontab crystal csplit cucumber
curlie cursor cut cypress dart dbt dd delta depcheck deta df dig direnv distrobox dive dmesg dnf docker docker-compose doctl
dotnet dpkg dprint drizzle-kit drush du dvc earthly ebook-convert electron elixir elm emacs emulator eas exiftool expo expect
expr fastlane ffmpeg ffprobe file firebase flatpak flex flutter fly flyctl flyway fmt fold foreman free fzf g++ gatsby gcc
gcloud gdb gemini gem gh ghc ghci git git-lfs gitleaks glab gleam gnuplot go goose gopls goreleaser gpg graphviz dot groff gsutil
gulp grunt gunzip gzip hadolint hashcat haxe helm helmfile heroku hexdump hexo hg hledger host hostname htop huggingface-cli hugo hyperfine
iconv idea ifconfig imagemagick influx initdb inkscape install iostat ip iptables isql istioctl iverilog java javadoc
jar jekyll jj join journalctl jshell julia jupyter just k3d k6 k9s kafka-topics kind kotlin kotlinc ktlint kubeadm kubectl kubectx
kubens kustomize latexmk lcov ld ldd leiningen lein lerna lftp libreoffice liquibase lldb llvm-config ln locust lsb_release
lsof lua luarocks lualatex lz4 m4 magick mail make maturin mdbook meson minikube mise mix mkcert mkdir mkdocs mkfifo mktemp
mockgen modprobe mogrify mongo mongodump mongoimport mongosh mongorestore mount mv mvn mycli mysql mysqladmin mysqldump nano nasm nc ncat
ncu neovim nest netcat netlify netstat newman ng nginx ngrok nim nimble nix nix-build nix-env nix-shell nixos-rebuild nm nmap
nomad nox npm npx nslookup nuget nuxi nvim nvm nx objcopy objdump ocaml odin ollama op opam opa openapi-generator openssl
opencode osascript otool pacman packer pandoc paste patchelf pdflatex pdftotext pg_ctl pg_dump pg_restore pgcli pgrep phpize pico
ping pip-audit pip-compile pip-sync pipx pm2 podman podman-compose ponyc port postgres pprof pr prisma protoc psql pstree pulumi
pv py-spy pyenv pyinstaller quarto qemu-img qemu-system-x86_64 r rabbitmqctl rails ranger rbenv rclone readelf readlink rebar3 redis-cli redis-server
rename renice repomix reset rev rm rmdir rollup rsync rscript runc rustup rye s3cmd sam sass sbt scala scons scp screen
scrapy seq serverless sftp sha1sum sha256sum sha512sum md5sum shasum shred shuf sips skaffold skopeo snap snyk socat solc forge cast
anvil hardhat sops speedtest sphinx-build split sql sqlcmd sqlfluff sqlite3 sqlplus squashfs ssh ssh-add ssh-keygen sshpass
stack stow strace strings strip stripe stty stylua su supabase supervisorctl svn swc swift swiftc swiftformat swiftlint sw_vers swag sync sysctl
systemctl systemd-analyze systeminfo tac tailscale tailwindcss tar taskkill tasklist tcpdump terraform terragrunt tesseract
tflint timedatectl tmux tofu top traceroute trivy truncate tsort tshark tsup tty turbo twine tsdown txt typst udevadm uglifyjs
umount uname uncrustify unxz unzip update-alternatives uptime useradd usermod uvicorn vagrant valgrind vault vercel verilator vi vim
virsh virtualenv visudo vmstat vsce w wails wasm-pack wasm-bindgen watch watchman wdio websocat who winget choco scoop
wp wrangler wscat xcodebuild xcodegen xcrun simctl xelatex xxd xz yt-dlp youtube-dl yum zcat zig zip zipinfo zola zstd
black ruff mypy pyright eslint prettier jest vitest mocha pytest redocly spectral storybook webpack esbuild vite rollup parcel
""")
)
"""Programs that everybody knows, or can look up."""

_DECORATION = frozenset(split_words("mcp server plugin claude ai official local remote hosted app my the"))

_WORDS = frozenset(
    split_words("""
accept account accounts action actions activate active activity add agent agents alert alerts all analysis analyze analytics
android answer api apply approve archive area array article articles artifact artifacts ask asset assign attach attachment
attachments audio audit auth authenticate author authors backlinks backup batch blob block blocks board boards body bookmark
boolean box branch branches breakpoint browser bucket build builds bulk button bytes cache calendar calendars call cancel
card cards cell cells change changes channel channels chart chat check checklist checks children chunk claim class clean
clear click client clone close cluster code column columns command commands comment comments commit commits compare complete
completion component components config configure connect connection connections console contact contacts container
containers content contents context convert copy count coverage crawl create credentials current customer customers cycle
cycles dashboard dashboards data database databases dataset datasets date debug declaration decline default define
definition delete deploy deployment deployments depth description design detail details device devices diagnostics dialog
diff directories directory disable disconnect discussion discussions dismiss doc docs document documentation documents
download draft drafts drag dropdown edges edit editor element email emails embed enable end entities entity entry env
environment environments episode epic error errors estimate evaluate event events example examples exec execute execution
expand explain export expression extract fact facts fail feature features fetch field fields file files fill filter find
finish flag flags flow folder folders follow for fork form format forms forward frame from function functions generate get
git goto graph group groups guide handle health hello help hierarchy history hook hooks hover html http id ids image images
implementation import in index info init input inputs insert inspect install instance instances invite invoice invoices
issue issues item items job jobs json key keyboard keys kill label labels language latest launch layer layout lead library
line lines link links list load local locate lock log login logout logs lookup mail make map mark markdown match me member
members memories memory menu merge message messages metadata metric metrics milestone milestones mode model models modify
monitor mouse move multi my name namespace namespaces navigate network new next node nodes note notebook notes notification
notifications number object objects observation observations of offer on open opened order orders org organization output
outline overview package packages page pages parent parse patch path pause payment payments pdf performance permission
permissions phone pipeline pipelines plan play playlist pod pods point port post posts press preview previous price print
product products profile project projects prompt prompts property publish pull push put query question queue quote range
read recent record records references refund refresh region register relation relations release releases reload remove
rename render repo report reports repositories repository request requests reset resize resolve resource resources
response restart restore result results resume retry review reviewers reviews role roles rollback root row rows rule rules
run runs runtime save scale scan schedule schema schemas scope scrape screen screenshot scroll search secret section see
select selection send service services session sessions set settings shape share sheet sheets shell show sign site sites
size snapshot snippet sort source space spaces spreadsheet sql star start state states statement stats status step steps
stop storage store stream string structure style styles sub submit subscribe subscription suggest suggestions summarize
summary switch symbol symbols sync system tab table tables tabs tag tags take tap target task tasks team template templates
terminal test tests text think thinking thought thread threads ticket tickets time timeline title to todo todos token tool
tools top topic trace traces track transaction transactions transcript transfer transition transitions translate tree
trigger trim type types ui undo unread update upload upsert url usage use user users validate value values variable
variables variant verify version versions video view views viewport vote wait watch weather web webhook webhooks wiki
window with word worker workers workflow workflows workspace workspaces write zone
""")
)
"""Ordinary words of tools' names."""

_SIMPLE = frozenset({"in", "of", "to", "for", "from", "on", "with", "my", "me", "all"})


def tool_name(tool: str) -> str:
    """The name of an MCP server's tool (``mcp__server__tool``, ``server__tool``, ``mcp_server_tool``) or of an agent's own."""
    server, double, name = tool.removeprefix("mcp_").strip("_").partition("__")
    if not double:
        server, name = _split(server)
        if not tool.startswith("mcp_") and _server(server) == "mcp":
            return "_".join(_ordinary(tool)) or "tool"
    return f"{_server(server)}-{'_'.join(_ordinary(name)) or 'tool'}"


def _split(text: str) -> tuple[str, str]:
    """(server, tool) of a name that parts them by a single underscore: the longest server that is known, else the first
    word."""
    parts = text.split("_")
    if len(parts) == 1:
        return "", text
    known = [size for size in range(len(parts) - 1, 0, -1) if "-".join(parts[:size]).lower() in SERVERS]
    size = known[0] if known else 1
    return "_".join(parts[:size]), "_".join(parts[size:])


def _server(name: str) -> str:
    """The name of a server that everybody knows, without what is added to it; "mcp" for any other."""
    words = [word for word in _parts(name) if word not in _DECORATION]
    whole = "-".join(dict.fromkeys(words))
    return whole if whole in SERVERS else next((word for word in words if word in SERVERS), "mcp")


def _ordinary(name: str) -> list[str]:
    """The ordinary words of a tool's name, in order; none where they say nothing."""
    found = [word for word in _parts(name) if word in _WORDS]
    return found if any(word not in _SIMPLE for word in found) else []


def _parts(name: str) -> list[str]:
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name[:200])
    return [word for word in re.split(r"[^a-z0-9]+", spread.lower()) if word]
