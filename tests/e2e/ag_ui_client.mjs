// CopilotKit's client of AG-UI, driven by lines of JSON on standard input; what comes of it are lines of JSON.
//   node ag_ui_client.mjs FOLDER_OF_THE_PACKAGE ADDRESS TOKEN
// Lines in: {"do": "open"|"say"|"answer"|"leave"|"watch", ...}. Lines out: {"event": ...}, {"done": ...}, {"failed": ...}.
// Every event has passed the client's own checks: of its shape, and of its place in the run (`verifyEvents`).
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, address, token] = process.argv.slice(2);
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const { HttpAgent, buildResumeArray, runHttpRequest, transformChunks, transformHttpEventStream, verifyEvents } =
  await import(pathToFileURL(`${folder}/dist/index.mjs`).href);
const headers = { authorization: `Bearer ${token}` };
let agent = null;

// What a page shows: the messages as the client has put them together from the events.
const shown = () => ({ messages: agent.messages, pending: agent.pendingInterrupts });

async function run(parameters) {
  await agent.runAgent(parameters, { onEvent: ({ event }) => say({ event }) });
  say({ done: shown() });
}

// The whole session as a watcher reads it, through the same checks.
function watch(path, runs) {
  const stop = new AbortController();
  const request = () => fetch(`${address}${path}`, { headers, signal: stop.signal });
  const events = transformHttpEventStream(runHttpRequest(request)).pipe(transformChunks(), verifyEvents());
  return new Promise((resolve, reject) => {
    const subscription = events.subscribe({
      next(event) {
        say({ event });
        if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") runs -= 1;
        if (runs > 0) return;
        subscription.unsubscribe();
        stop.abort();
        say({ done: {} });
        resolve();
      },
      error: reject,
    });
  });
}

async function carriedOut(wish) {
  switch (wish.do) {
    case "open":
      agent = new HttpAgent({ url: `${address}/ag-ui`, headers, threadId: wish.thread, initialMessages: wish.messages });
      return say({ done: shown() });
    case "say":
      agent.addMessage({ id: `${agent.messages.length}`, role: "user", content: wish.content });
      return await run({ runId: wish.run, forwardedProps: wish.props });
    case "answer":
      return await run({ runId: wish.run, resume: buildResumeArray(agent.pendingInterrupts, wish.responses) });
    case "leave": // as a page that is closed: only the connection ends
      agent.abortRun();
      return say({ left: true });
    case "watch":
      return await watch(wish.path, wish.runs);
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  carriedOut(JSON.parse(line)).catch((error) => say({ failed: { name: error.name, message: error.message } }));
});
