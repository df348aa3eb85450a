/**
 * Watchers that read nothing, as a process of its own that the benchmark stops: `silent.ts KIND KUBECONFIG
 * PATH COUNT`. Prints a line when all watches have been answered.
 */
import { once } from "node:events";
import { connect as http2Connect } from "node:http2";
import { connect as tlsConnect } from "node:tls";
import { loadKubeconfig } from "@dray/client";

const [kind, kubeconfig, path, count] = process.argv.slice(2);
const { connection } = await loadKubeconfig({ file: kubeconfig! });
const url = new URL(connection.server);
const tls = { ca: connection.ca!, cert: connection.cert!, key: connection.key! };
/** Watches on one connection of HTTP/2. */
const streams = 100;
const largestWindow = 2 ** 31 - 1;

async function http1(): Promise<void> {
  const socket = tlsConnect({
    ...tls,
    host: url.hostname,
    port: Number(url.port),
    ALPNProtocols: ["http/1.1"],
  });
  socket.on("error", () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`);
  await once(socket, "readable");
}

async function http2(watches: number, window: number | undefined): Promise<void> {
  const session = http2Connect(url, { ...tls, ...(window && { settings: { initialWindowSize: window } }) });
  session.on("error", () => {});
  await once(session, "connect");
  if (window !== undefined) session.setLocalWindowSize(window);
  await Promise.all(
    Array.from({ length: watches }, async () => {
      const stream = session.request({ ":path": path! });
      stream.on("error", () => {});
      await once(stream, "response");
    }),
  );
}

if (kind === "http1") {
  for (let left = Number(count); left > 0; left -= 50)
    await Promise.all(Array.from({ length: Math.min(left, 50) }, http1));
} else {
  for (let left = Number(count); left > 0; left -= streams)
    await http2(Math.min(left, streams), kind === "http2-wide" ? largestWindow : undefined);
}
process.stdout.write("open\n");
setInterval(() => {}, 60_000);
