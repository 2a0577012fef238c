// A client of the official TypeScript SDKs, driven by lines of JSON on standard input; each answer is a line.
//   node editor_client.mjs new|old FOLDER_WITH_NODE_MODULES COMMAND ARGUMENT...
// "new" is @agentclientprotocol/sdk, "old" its former name, @zed-industries/agent-client-protocol.
// Lines in: {"do": "new"|"load"|"prompt"|"cancel"|"close"|"race", ...}. Lines out: {"done": ..., ...} and {"update": ...}.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [which, modules, command, ...words] = process.argv.slice(2);
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const agent = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
let leaving = false;
agent.on("exit", (code, signal) => {
  say({ ended: code ?? signal });
  if (leaving) process.exit(0); // standard input is still open
});

// Every line of both sides is also passed on, so that the schema can judge it.
const told = (side) =>
  new TransformStream({
    transform(chunk, controller) {
      say({ [side]: Buffer.from(chunk).toString("latin1") });
      controller.enqueue(chunk);
    },
  });
const sent = told("sent");
sent.readable.pipeTo(Writable.toWeb(agent.stdin)).catch(() => {});
const output = sent.writable;
const input = Readable.toWeb(agent.stdout).pipeThrough(told("received"));
const choose = (options) => options.find((each) => each.kind === "allow_once") ?? options[0];
let never = false; // whether permissions have no answer before a cancel
let open = []; // what a cancel answers, as the protocol demands

const client = {
  async requestPermission(params) {
    say({ asked: params.toolCall.toolCallId });
    if (never) return await new Promise((resolve) => open.push(() => resolve({ outcome: { outcome: "cancelled" } })));
    return { outcome: { outcome: "selected", optionId: choose(params.options).optionId } };
  },
  async sessionUpdate(params) {
    say({ update: params.update });
  },
};

async function connected(serve) {
  if (which === "old") {
    const acp = await import(pathToFileURL(`${modules}/@zed-industries/agent-client-protocol/dist/acp.js`).href);
    const peer = new acp.ClientSideConnection(() => client, acp.ndJsonStream(output, input));
    await serve({
      initialize: (params) => peer.initialize(params),
      new: (params) => peer.newSession(params),
      load: (params) => peer.loadSession(params),
      prompt: (params) => peer.prompt(params),
      cancel: (params) => peer.cancel(params),
    });
    return;
  }
  const acp = await import(pathToFileURL(`${modules}/@agentclientprotocol/sdk/dist/v1/stable/acp.js`).href);
  const { agent: to, client: from } = acp.methods;
  const app = acp
    .client({ name: "editor" })
    .onRequest(from.session.requestPermission, ({ params }) => client.requestPermission(params))
    .onNotification(from.session.update, ({ params }) => client.sessionUpdate(params));
  await app.connectWith(acp.ndJsonStream(output, input), async (peer) => {
    await serve({
      initialize: (params) => peer.request(to.initialize, params),
      new: (params) => peer.request(to.session.new, params),
      load: (params) => peer.request(to.session.load, params),
      prompt: (params) => peer.request(to.session.prompt, params),
      cancel: (params) => peer.notify(to.session.cancel, params),
    });
  });
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const text = (words) => [{ type: "text", text: words }];
const failed = (error) => ({ code: error?.code, message: error?.message ?? String(error) });

await connected(async (peer) => {
  await peer.initialize({ protocolVersion: 1, clientCapabilities: {} });
  say({ agent: agent.pid });
  for await (const line of createInterface({ input: process.stdin })) {
    const wish = JSON.parse(line);
    try {
      if (wish.do === "new") say({ done: await peer.new({ cwd: wish.cwd, mcpServers: [] }) });
      if (wish.do === "load") say({ done: await peer.load({ cwd: wish.cwd, sessionId: wish.session, mcpServers: [] }) });
      if (wish.do === "prompt") say({ done: await peer.prompt({ sessionId: wish.session, prompt: text(wish.text) }) });
      if (wish.do === "cancels") {
        // Prompts that are cancelled after random times; with 0 in the packet of the prompt.
        never = true;
        for (const ms of wish.after) {
          const answer = peer.prompt({ sessionId: wish.session, prompt: text("go") });
          if (ms > 0) await pause(ms);
          const began = performance.now();
          const sending = peer.cancel({ sessionId: wish.session });
          for (const each of open.splice(0)) each();
          await sending;
          const { stopReason } = await answer;
          for (const each of open.splice(0)) each(); // one that was asked just before
          say({ cancelled: stopReason, after: ms, ms: performance.now() - began });
        }
        never = false;
        say({ done: {} });
      }
      if (wish.do === "leave") {
        leaving = true;
        agent.stdin.end();
        break;
      }
    } catch (error) {
      say({ failed: failed(error) });
    }
  }
});
