"""How a tool that no table knows is named: by ordinary words alone, never by a name that may be somebody's. Pure.

The names of MCP servers and of people's own tools often are a customer's, a team's or a host's. So a server is named only
if everybody knows it (`SERVERS`), and of a tool's name only the ordinary words are kept (`_WORDS`):
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
