"use strict";
// One page over the API of `holdfast serve`. The server draws the blocks of a transcript and sends them as HTML; this
// script places them, and sends what its user wants into the inbox. Nothing is shown as done before the server says so.

const $ = (id) => document.getElementById(id);
const make = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};
const now = { me: null, sessions: [], current: "", status: null, source: null, waiting: [], known: new Map(), drafts: new Map(), chosen: 0 };
const STATES = [["asking", "Waiting for your answer"], ["running", "Running"], ["waiting", "Waiting for a worker"],
  ["held", "Held"], ["idle", "Idle"]];
const GROUP_LIMIT = 40;

// --- HTML of the server: elements by a list, no attributes but the class ------------------------------------------

const ALLOWED = new Set(("A B BLOCKQUOTE BR CODE DEL DETAILS DIV EM H1 H2 H3 H4 H5 H6 HR INS LI OL P PRE S SECTION SPAN "
  + "STRONG SUMMARY TABLE TBODY TD TH THEAD TR UL").split(" "));

function copied(node) {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE) return null;
  const known = ALLOWED.has(node.nodeName) && node.nodeName !== "A";
  const made = known ? document.createElement(node.nodeName) : document.createElement("span");
  if (known && node.className) made.className = node.className;
  if (node.nodeName === "DETAILS" && node.hasAttribute("open")) made.open = true;
  for (const child of node.childNodes) {
    const inner = copied(child);
    if (inner) made.append(inner);
  }
  return made;
}

function nodesOf(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  return [...parsed.body.childNodes].map(copied).filter(Boolean);
}

// --- requests -----------------------------------------------------------------------------------------------------

function lost(why) {
  $("lost").hidden = !why;
  if ($("lost").textContent !== why) $("lost").textContent = why;
}

async function call(method, path, body, key, has) {
  const headers = { accept: "application/json" };
  if (has) headers["if-none-match"] = has.tag;
  if (body !== undefined) headers["content-type"] = "application/json";
  if (key) headers["idempotency-key"] = key;
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    lost("Connection lost. Trying again…");
    throw new Error(noAnswer(key));
  }
  if (now.source === null || now.source.readyState === EventSource.OPEN) lost("");
  if (response.status === 204 || response.status === 304) return null;
  let answer;
  try { answer = await response.json(); } catch { throw new Error(noAnswer(key)); }
  if (key && response.status < 500) forgetKey(key);
  if (response.status === 401 && path !== "/login") signedOut();
  if (!response.ok) throw new Error(answer.error || `The server answered ${response.status}.`);
  if (has) has.tag = response.headers.get("etag") || "";
  return answer;
}

function noAnswer(key) {
  return key ? "No answer: the server may have it already. Send it again to be sure; it is done only once."
    : "The server does not answer. Try again.";
}

// --- keys: what was sent and not answered is sent again under its key, also after a reload, and so it is done once ---

const UNANSWERED = "holdfast unanswered";
const unanswered = new Map(JSON.parse(sessionStorage.getItem(UNANSWERED) || "[]"));

function keepUnanswered() {
  try { sessionStorage.setItem(UNANSWERED, JSON.stringify([...unanswered])); } catch { /* too long: kept until a reload */ }
}

// Return what was sent for `purpose` before, if it was not answered, else `request` with a new key. It stays until
// its answer: one with a status below 500.
function keyed(purpose, request) {
  if (!unanswered.has(purpose)) {
    const key = [...crypto.getRandomValues(new Uint8Array(12))].map((each) => each.toString(16).padStart(2, "0")).join("");
    unanswered.set(purpose, { ...request, key });
    keepUnanswered();
  }
  return unanswered.get(purpose);
}

function forgetKey(key) {
  for (const [purpose, request] of unanswered) if (request.key === key) unanswered.delete(purpose);
  keepUnanswered();
}

function draftOf(session) { return `draft ${session}`; }

function say(text, bad) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", Boolean(bad));
}

// --- signing in ---------------------------------------------------------------------------------------------------

const listed = { tag: "" }; // of the list that the page has: only another one is sent

function signedOut() {
  if (now.source) now.source.close();
  Object.assign(now, { me: null, source: null, current: "" });
  listed.tag = "";
  $("app").hidden = true;
  $("login").hidden = false;
  $("token").focus();
}

function signedIn(me) {
  now.me = me;
  $("login").hidden = true;
  $("app").hidden = false;
  const asks = me.rights.includes("ask");
  $("composer-text").disabled = !asks;
  $("composer-text").placeholder = asks ? "Ask holdfast to do something" : "This token may only watch.";
  $("new").disabled = !asks;
  const wanted = decodeURIComponent(location.hash.slice(1));
  choose(wanted);
  refresh();
}

$("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("login-error").textContent = "";
  try {
    const me = await call("POST", "/login", { token: $("token").value });
    $("token").value = "";
    signedIn(me);
  } catch (error) {
    $("login-error").textContent = error.message;
  }
});

$("sign-out").addEventListener("click", async () => {
  try { await call("POST", "/logout"); } catch (error) { say(error.message, true); return; }
  unanswered.clear();
  keepUnanswered();
  signedOut();
});

// --- the list -----------------------------------------------------------------------------------------------------

function ago(at) {
  const seconds = Math.max(0, Date.now() / 1000 - at);
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

function sessionName(session) { return session.title || "New session"; }

function aboutOf(session) {
  const folder = session.cwd.split("/").filter(Boolean).pop() || "";
  return [folder, session.changed ? ago(session.changed) : "", session.cost ? `$${Number(session.cost).toFixed(2)}` : ""]
    .filter(Boolean).join(" · ");
}

function drawList() {
  const focused = document.activeElement?.dataset?.session;
  const groups = [];
  for (const [state, label] of STATES) {
    const members = now.sessions.filter((each) => each.state === state).slice(0, GROUP_LIMIT);
    if (!members.length) continue;
    const heading = make("h2", "", label);
    heading.id = `state-${state}`;
    const list = make("div");
    list.setAttribute("role", "list");
    list.setAttribute("aria-labelledby", heading.id);
    for (const each of members) {
      const item = make("div");
      item.setAttribute("role", "listitem");
      const button = make("button", `session ${state}`);
      button.type = "button";
      button.dataset.session = each.id;
      button.title = each.held || each.cwd;
      if (each.id === now.current) button.setAttribute("aria-current", "true");
      button.append(make("span", "name", sessionName(each)), make("span", "about", aboutOf(each)));
      button.addEventListener("click", () => { choose(each.id); closeList(); });
      item.append(button);
      list.append(item);
    }
    groups.push(heading, list);
  }
  if (!groups.length) groups.push(make("p", "soft", "No sessions yet."));
  $("list").replaceChildren(...groups);
  if (focused) document.querySelector(`[data-session="${CSS.escape(focused)}"]`)?.focus();
}

function closeList() {
  $("sidebar").classList.remove("open");
  $("show-list").setAttribute("aria-expanded", "false");
}

$("show-list").addEventListener("click", () => {
  const open = $("sidebar").classList.toggle("open");
  $("show-list").setAttribute("aria-expanded", String(open));
  if (open) ($("list").querySelector("[aria-current]") || $("new")).focus();
});

let refreshing = null;
async function refresh() {
  clearTimeout(refreshing);
  if (!now.me) return;
  try {
    const answer = await call("GET", "/sessions", undefined, undefined, listed);
    if (!now.me) return;
    if (answer) {
      now.sessions = answer.sessions;
      drawList();
      drawStatus();
    }
    await readInbox();
    drawState();
  } catch { /* the banner says it, and the next look may succeed */ }
  clearTimeout(refreshing);
  refreshing = setTimeout(refresh, document.hidden ? 10000 : 1500);
}

// --- the transcript -----------------------------------------------------------------------------------------------

function atEnd() { return $("log").scrollHeight - $("log").scrollTop - $("log").clientHeight < 40; }

let stuck = true;
function toEnd() { $("log").scrollTop = $("log").scrollHeight; }

// Once a frame: to ask for a height lays out the whole transcript, and thousands of blocks may arrive at once.
let followed = null;
function follow(was) {
  stuck = was;
  if (followed === null) requestAnimationFrame(() => {
    stuck = stuck || followed;
    followed = null;
    if (stuck) toEnd();
    $("to-end").hidden = stuck || atEnd();
  });
  followed = followed || was;
}

$("log").addEventListener("scroll", () => { stuck = atEnd(); if (stuck) $("to-end").hidden = true; });
$("to-end").addEventListener("click", () => { toEnd(); $("log").focus(); });
new ResizeObserver(() => { if (stuck) toEnd(); }).observe($("blocks"));

function placed(block) {
  const was = now.known.get(block.key);
  const made = make("div", "block");
  made.setAttribute("role", "article");
  made.setAttribute("aria-label", block.label);
  made.append(...nodesOf(block.html));
  const open = was ? [...was.querySelectorAll("details")].map((each) => each.open) : [];
  [...made.querySelectorAll("details")].forEach((each, at) => { if (at in open) each.open = open[at]; });
  if (was) was.replaceWith(made);
  else $("blocks").insertBefore(made, block.before ? now.known.get(block.before) ?? null : null);
  now.known.set(block.key, made);
}

function taken(message) {
  const was = stuck;
  switch (message.type) {
    case "reset":
      now.known.clear();
      $("blocks").replaceChildren();
      break;
    case "order": {
      const kept = new Set(message.keys);
      for (const key of [...now.known.keys()]) if (!kept.has(key)) dropped(key);
      break;
    }
    case "set":
      placed(message);
      break;
    case "drop":
      message.keys.forEach(dropped);
      break;
    case "status":
      now.status = message;
      drawStatus();
      break;
  }
  follow(was || message.type === "reset");
}

function dropped(key) {
  now.known.get(key)?.remove();
  now.known.delete(key);
}

function choose(session) {
  if (now.current) now.drafts.set(now.current, $("composer-text").value);
  if (now.source) now.source.close();
  Object.assign(now, { current: session, status: null, source: null, waiting: [], chosen: now.chosen + 1 });
  now.known.clear();
  stuck = true;
  $("blocks").replaceChildren();
  $("composer-text").value = now.drafts.get(session) || unanswered.get(draftOf(session))?.text || "";
  $("begin").hidden = Boolean(session);
  history.replaceState(null, "", session ? `#${encodeURIComponent(session)}` : location.pathname);
  say("");
  if (session) watch(session);
  drawList();
  drawStatus();
  drawState();
  drawWaiting();
  grow();
  if (!$("composer-text").disabled) $("composer-text").focus();
}

function watch(session) {
  const source = new EventSource(`/sessions/${encodeURIComponent(session)}/events?as=page`);
  now.source = source;
  source.onopen = () => lost("");
  source.onmessage = (event) => { if (now.source === source) taken(JSON.parse(event.data)); };
  source.onerror = () => {
    if (now.source !== source) return;
    lost("Connection lost. What you see may be old. Trying again…");
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (now.source === source) watch(session); }, 1500);
  };
}

// --- state, question, composer ------------------------------------------------------------------------------------

function current() { return now.sessions.find((each) => each.id === now.current); }

function drawStatus() {
  const status = now.status;
  const session = current();
  $("title").textContent = now.current ? status?.title || (session ? sessionName(session) : now.current) : "New session";
  document.title = now.current ? `${$("title").textContent} · holdfast` : "holdfast";
  $("facts").textContent = status
    ? [status.model, status.tokens ? `${Math.round(status.tokens / 1000)}k tokens` : "", status.cost ? `$${Number(status.cost).toFixed(4)}` : ""].filter(Boolean).join(" · ")
    : "";
  drawModes();
  drawQuestion();
}

function drawModes() {
  const modes = now.me && now.me.rights.includes("answer") && now.current ? ["ask", "accept-edits", "plan"] : [];
  const mode = now.status?.mode || "ask";
  if (modes.length && !modes.includes(mode)) modes.push(mode);
  $("mode").parentElement.hidden = !modes.length;
  if ($("mode").dataset.shown === modes.join() + mode) return;
  $("mode").dataset.shown = modes.join() + mode;
  $("mode").replaceChildren(...modes.map((each) => {
    const option = make("option", "", each.replace("-", " "));
    option.value = each;
    option.selected = each === mode;
    return option;
  }));
}

$("mode").addEventListener("change", () => ask("mode", { mode: $("mode").value }));

function stateOf() {
  const state = current()?.state || "";
  return now.status?.asks ? "asking" : state;
}

function drawState() {
  const session = current();
  const state = stateOf();
  const runs = state === "running" || state === "asking";
  $("stop").hidden = !runs || !now.me?.rights.includes("ask");
  $("later").hidden = !runs || $("composer-text").disabled;
  $("send").textContent = !now.current ? "Begin" : runs ? "Steer" : "Send";
  $("send").disabled = $("later").disabled = $("composer-text").disabled;
  $("held").hidden = !session?.held;
  $("held").textContent = session?.held ? `${session.held} What you send waits until then.` : "";
  const said = { running: "Working…", asking: "Your answer is needed.", waiting: "Waits for a free worker." }[state] || "";
  if (!$("status").classList.contains("bad")) say(said);
}

let asked = "";
function drawQuestion() {
  const question = now.status?.asks || null;
  const may = now.me?.rights.includes("answer");
  const shown = question ? JSON.stringify(question) : "";
  $("ask").hidden = !question;
  if (shown === asked) return;
  asked = shown;
  if (!question) { $("news").textContent = ""; return; }
  $("ask-text").textContent = question.text;
  const what = detailOf(question);
  $("ask-title").textContent = what;
  $("ask-why").textContent = [question.why, ...(question.warnings || [])].filter(Boolean).join("\n");
  $("ask-words").value = "";
  $("ask-words").hidden = $("ask-words-label").hidden = !may;
  const nodes = [];
  question.choices.forEach((choice, at) => {
    if (question.several && choice.option) {
      const label = make("label");
      const box = make("input");
      box.type = "checkbox";
      box.value = choice.name;
      label.append(box, document.createTextNode(textOf(choice)));
      nodes.push(label);
    } else {
      const button = make("button", "", `${at + 1} ${textOf(choice)}`);
      button.type = "button";
      button.disabled = !may;
      button.dataset.choice = String(at);
      button.addEventListener("click", () => answer(question, choice));
      nodes.push(button);
    }
    if (choice.note) nodes.push(make("p", "note", choice.note));
  });
  if (!may) nodes.push(make("p", "note", "This token may not answer."));
  $("ask-choices").replaceChildren(...nodes);
  $("news").textContent = `${question.text} ${what}`;
  follow(true);
}

// Return what would be done: the title only where the detail does not say it, as of a command in another folder.
function detailOf(question) {
  const title = question.title || "";
  const detail = question.detail || "";
  if (!detail) return title;
  return question.choices.some((each) => each.option) || title.replace(/^run( in the background)?: /, "") === detail
    ? detail : [title, detail].filter(Boolean).join("\n\n");
}

function textOf(choice) {
  return choice.label.replace("{}", () => choice.option ? choice.subject : `\`${choice.subject}\``);
}

async function answer(question, choice) {
  const marked = [...$("ask-choices").querySelectorAll("input:checked")].map((each) => each.value);
  const body = { question: question.id, choice: choice.name, words: $("ask-words").value.trim() };
  if (!choice.option && marked.length) body.marked = marked;
  for (const each of $("ask-choices").querySelectorAll("button")) each.disabled = true;
  if (!(await ask("answer", body))) { asked = ""; drawQuestion(); }
  $("composer-text").focus();
}

async function ask(kind, body) {
  const session = now.current;
  const { key } = keyed(`${session} ${kind} ${JSON.stringify(body)}`, {});
  return put(session, kind, body, key);
}

async function put(session, kind, body, key) {
  try {
    const row = await call("POST", `/sessions/${encodeURIComponent(session)}/inbox`, { kind, ...body }, key);
    say("");
    now.waiting.push(row);
    refresh();
    return row;
  } catch (error) {
    say(error.message, true);
    return null;
  }
}

async function readInbox() {
  const session = now.current;
  const chosen = now.chosen;
  if (!session || !now.me) return;
  let after = now.waiting.length ? Math.min(...now.waiting.map((each) => each.id)) - 1 : now.read?.[session] ?? 0;
  const found = [];
  for (;;) {
    const { inbox } = await call("GET", `/sessions/${encodeURIComponent(session)}/inbox?after=${after}`);
    found.push(...inbox);
    if (inbox.length < 200) break;
    after = inbox[inbox.length - 1].id;
  }
  if (chosen !== now.chosen) return;
  for (const row of found) {
    const before = now.waiting.find((each) => each.id === row.id);
    if (before && row.done && row.refused && row.refused !== "Recalled.") say(row.refused, true);
  }
  now.waiting = found.filter((row) => !row.done);
  const last = found.length ? found[found.length - 1].id : after;
  now.read = { ...now.read, [session]: now.waiting.length ? now.waiting[0].id - 1 : last };
  drawWaiting();
}

function drawWaiting() {
  const queued = (now.status?.queued || []).map((each) => ({ id: each.id, text: each.text, why: each.held ? "Not sent" : "Queued" }));
  const rows = now.waiting.filter((each) => ["prompt", "steer", "later"].includes(each.kind))
    .map((each) => ({ id: each.id, text: each.body.text, why: "Waiting" }));
  const shown = JSON.stringify([rows, queued]);
  if ($("waiting").dataset.shown === shown) return;
  $("waiting").dataset.shown = shown;
  $("waiting").replaceChildren(...[...rows, ...queued].map((each) => {
    const item = make("li");
    item.append(make("b", "", each.why), make("span", "", each.text));
    const back = make("button", "", "Edit");
    back.type = "button";
    back.setAttribute("aria-label", `Edit the message: ${each.text}`);
    back.addEventListener("click", async () => {
      if (!(await ask("recall", { id: each.id }))) return;
      $("composer-text").value = [each.text, $("composer-text").value].filter(Boolean).join("\n\n");
      grow();
      $("composer-text").focus();
    });
    item.append(back);
    return item;
  }));
}

let sending = false;
async function send(kind) {
  const text = $("composer-text").value;
  if (!text.trim() || sending || $("composer-text").disabled) return;
  sending = true;
  try {
    if (!now.current) {
      const place = $("folder").value.trim() ? { cwd: $("folder").value.trim() } : {};
      const first = keyed(draftOf(""), { text });
      const made = await call("POST", "/sessions", { prompt: text, model: $("model").value.trim(), place }, first.key);
      $("composer-text").value = "";
      choose(made.id);
      sent(made.new || first.text === text, text);
      refresh();
    } else {
      const session = now.current;
      const first = keyed(draftOf(session), { kind, text });
      const row = await put(session, first.kind, { text }, first.key);
      if (row && now.current === session) sent(row.body.text === text, text);
      else if (row && row.body.text === text) now.drafts.delete(session);
    }
  } catch (error) {
    say(error.message, true);
  } finally {
    sending = false;
    grow();
  }
}

// Clear the box, unless the server had an earlier text of this draft, whose answer was lost: then it did not take this.
function sent(same, text) {
  $("composer-text").value = same ? "" : text;
  if (same) now.drafts.delete(now.current);
  else say("The server already had your message, as you sent it first. Send this one too if it is still needed.", true);
}

function busy() { return ["running", "asking"].includes(stateOf()); }

function grow() {
  const box = $("composer-text");
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight + 2, innerHeight * 0.4)}px`;
}

$("composer").addEventListener("submit", (event) => { event.preventDefault(); send(busy() ? "steer" : "prompt"); });
$("later").addEventListener("click", () => send("prompt"));
$("stop").addEventListener("click", () => ask("stop", {}));
$("new").addEventListener("click", () => { choose(""); closeList(); });
$("composer-text").addEventListener("input", grow);
$("composer-text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("composer").requestSubmit();
  }
});

function digitOf(event) {
  return /^[1-9]$/.test(event.key) ? event.key : event.altKey ? /^Digit([1-9])$/.exec(event.code)?.[1] : undefined;
}

document.addEventListener("keydown", (event) => {
  if (!now.me || event.isComposing) return;
  if (event.key === "Escape") {
    if ($("sidebar").classList.contains("open")) { closeList(); $("show-list").focus(); } else if (!$("stop").hidden) { event.preventDefault(); ask("stop", {}); }
  } else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    event.preventDefault();
    const ids = [...document.querySelectorAll(".session")].map((each) => each.dataset.session);
    const at = ids.indexOf(now.current) + (event.key === "ArrowDown" ? 1 : -1);
    if (ids.length) choose(ids[(at + ids.length) % ids.length]);
  } else if (digitOf(event) && !$("ask").hidden && !event.ctrlKey && !event.metaKey) {
    // A digit that was meant for a prompt must not answer: it needs Alt, or the focus on the choices.
    if (!event.altKey && !$("ask-choices").contains(document.activeElement)) return;
    const button = $("ask-choices").querySelector(`[data-choice="${Number(digitOf(event)) - 1}"]`);
    if (button && !button.disabled) { event.preventDefault(); button.click(); }
  }
});

document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });

(async () => {
  try { signedIn(await call("GET", "/me")); } catch { if ($("app").hidden) signedOut(); }
})();
