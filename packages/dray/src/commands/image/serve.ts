import { createReadStream, type Stats, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { listeningPort, readUnprivilegedPortStart } from "@dray/kubelet/machine";

const types: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".gif": "image/gif",
  ".html": "text/html",
  ".ico": "image/x-icon",
  ".jpg": "image/jpeg",
  ".js": "application/javascript",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".wasm": "application/wasm",
  ".xml": "text/xml",
};

const server = "dray";

/** Content of `/` without a mounted folder. */
const welcome = `<!DOCTYPE html>
<html><head><title>Welcome</title></head>
<body><h1>Welcome</h1><p>This pod serves the folder that is mounted at /usr/share/nginx/html.</p></body></html>
`;

/**
 * Serves the files below `root` on port 80 of the pod's address until a signal, as a replacement for nginx.
 */
export async function serveFiles(root: string, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const [host, port] = [env["DRAY_POD_IP"] || "127.0.0.1", 80];
  const listener = createServer((request, response) => {
    response.once("close", () => logAccess(request, response));
    void answer(root, request, response).catch(() => response.destroy());
  });
  try {
    await listen(listener, host, port);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    // The port in place of one that needs a privilege, where Services, probes and port-forward look for it.
    await listen(listener, host, listeningPort(port, readUnprivilegedPortStart()));
  }
  await new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGQUIT"] as const) process.once(signal, resolve);
  });
  listener.close();
  listener.closeAllConnections();
}

function listen(listener: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(
        Object.assign(new Error(`cannot listen on ${host}:${port}: ${error.message}`), { code: error.code }),
      );
    listener.once("error", fail);
    listener.listen(port, host, () => {
      listener.off("error", fail);
      resolve();
    });
  });
}

/** Sends the file that a request names, or responds with an error. */
export async function answer(
  root: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = "", url = "/" } = request;
  response.setHeader("Server", server);
  if (method !== "GET" && method !== "HEAD") return refuse(response, 405, "Not Allowed");
  const path = pathOf(url);
  if (path === undefined) return refuse(response, 400, "Bad Request");
  let file = join(root, path);
  let found = look(file);
  if (found?.isDirectory()) {
    if (!path.endsWith("/")) {
      response.setHeader("Location", `${new URL(url, "http://pod/").pathname.replace(/^\/+/, "/")}/`);
      return refuse(response, 301, "Moved Permanently");
    }
    file = join(file, "index.html");
    found = look(file);
    if (found === undefined) return refuse(response, 403, "Forbidden");
  } else if (path.endsWith("/")) found = undefined;
  if (found === undefined && path === "/" && look(root) === undefined) {
    response.writeHead(200, { "Content-Type": "text/html", "Content-Length": Buffer.byteLength(welcome) });
    response.end(method === "HEAD" ? undefined : welcome);
    return;
  }
  if (found === undefined) return refuse(response, 404, "Not Found");
  if (!found.isFile()) return refuse(response, 403, "Forbidden");
  const source = createReadStream(file, { end: Math.max(found.size - 1, 0) });
  await new Promise((resolve, reject) => source.once("open", resolve).once("error", reject)).catch(() => {
    refuse(response, 403, "Forbidden");
  });
  if (response.writableEnded) return;
  response.writeHead(200, {
    "Content-Type": types[extname(file).toLowerCase()] ?? "application/octet-stream",
    "Content-Length": found.size,
    "Last-Modified": found.mtime.toUTCString(),
  });
  // Bytes appended meanwhile exceed the announced length.
  if (method === "HEAD" || found.size === 0) {
    source.destroy();
    response.end();
  } else await pipeline(source, response);
}

/** Returns the decoded path of a URL, without `..`; undefined for an invalid path. */
function pathOf(url: string): string | undefined {
  try {
    const path = decodeURIComponent(new URL(url, "http://pod/").pathname);
    return path.includes("\0") || path.split("/").includes("..") ? undefined : path;
  } catch {
    return undefined;
  }
}

function look(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function refuse(response: ServerResponse, code: number, reason: string): void {
  const text = `<html><head><title>${code} ${reason}</title></head><body><h1>${code} ${reason}</h1></body></html>\n`;
  response.writeHead(code, { "Content-Type": "text/html", "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}

/** The common log format. */
function logAccess(
  { method, url, socket, httpVersion }: IncomingMessage,
  { statusCode }: ServerResponse,
): void {
  const time = new Date().toISOString();
  const line = JSON.stringify(`${method} ${url} HTTP/${httpVersion}`);
  process.stdout.write(`${socket.remoteAddress ?? "-"} - - [${time}] ${line} ${statusCode}\n`);
}
