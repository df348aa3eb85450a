import type { IncomingMessage } from "node:http";
import type { ApiRequest, ApiResponse, Clock, Log } from "@dray/client";
import {
  exited,
  internalError,
  type Outcome,
  protocolHeader,
  type RemoteCommand,
  type RemoteCommandOptions,
  type RemoteStatus,
  remoteCommandOverWebSocket,
  remoteCommandProtocols,
  runRemoteCommand,
  spdySession,
  success,
} from "@dray/streams";
import type { Target } from "../proxy/kubelet.ts";
import { NoResponse, requestUpgrade } from "./backend.ts";
import { subprotocols } from "./request.ts";

/** The WebSocket protocol that is translated: kubelets before 1.36 do not support it (KEP-4006). */
export const translatedProtocol = "v5.channel.k8s.io";

/** Protocols that are offered to a kubelet, as by client-go. */
const offered = [translatedProtocol, ...remoteCommandProtocols];
/** Milliseconds between two pings to the kubelet. */
const pingPeriod = 5000;

/**
 * Translates exec or attach of a WebSocket client to SPDY for the kubelet (upstream's
 * StreamTranslatorHandler). Errors are sent on the error channel, because the client's connection is
 * established before the kubelet's.
 */
export function translated(
  kubelet: Pick<Kubelet, "target" | "path">,
  sent: ApiRequest,
  commandOptions: RemoteCommandOptions,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): ApiResponse {
  return {
    type: "upgrade",
    status: 101,
    headers: {},
    accept(socket, head) {
      const request = {
        method: sent.method,
        headers: { ...sent.headers, "sec-websocket-protocol": subprotocols(sent).join(", ") },
      };
      remoteCommandOverWebSocket({ request, socket, head }, commandOptions, [translatedProtocol])
        .then((command) => command && carry(command, { ...kubelet, tty: commandOptions.tty, clock, log }))
        .catch((error: unknown) => {
          log.error({ error, url: sent.url }, "a stream has failed");
          socket.destroy();
        });
    },
    discard() {},
  };
}

/** The target of a command. */
interface Kubelet {
  readonly target: Target;
  readonly path: string;
  readonly tty: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

async function carry(command: RemoteCommand, kubelet: Kubelet): Promise<void> {
  const disconnected = new AbortController();
  command.closed.then(() => disconnected.abort());
  await command.finish(await statusOf(command, kubelet, disconnected.signal));
}

async function statusOf(
  command: RemoteCommand,
  kubelet: Kubelet,
  disconnected: AbortSignal,
): Promise<RemoteStatus> {
  const { target, path, tty, clock, log } = kubelet;
  try {
    const headers = { upgrade: "SPDY/3.1", [protocolHeader]: offered };
    const answer = await requestUpgrade(target, { method: "POST", path, headers, signal: disconnected });
    if (!answer.upgraded) return failed(await rejectionReason(answer.response));
    if (!answer.response.headers.upgrade?.toLowerCase().includes("spdy/3.1")) {
      answer.socket.destroy();
      return failed("unable to upgrade connection: empty server response");
    }
    const session = spdySession(answer.socket, "client", { head: answer.head, log });
    command.closed.then(() => session.close());
    const stopPings = startPings(pingPeriod, () => session.ping(), clock);
    try {
      const protocol = [answer.response.headers[protocolHeader] ?? "channel.k8s.io"].flat()[0]!;
      return statusFor(await runRemoteCommand(session, { ...command, tty }, protocol));
    } finally {
      stopPings();
      session.close();
    }
  } catch (error) {
    const { message } = error as Error;
    if (!(error instanceof NoResponse)) return failed(message);
    const { scheme, host, port } = target;
    return failed(`error sending request: Post "${scheme}://${host}:${port}${path}": ${message}`);
  }
}

function statusFor(outcome: Outcome): RemoteStatus {
  switch (outcome.type) {
    case "success":
      return { metadata: {}, ...success };
    case "exited":
      return {
        metadata: {},
        ...exited(outcome.code, `command terminated with exit code ${outcome.code}`),
      };
    case "failed":
      return failed(outcome.message);
  }
}

function failed(message: string): RemoteStatus {
  const { code, ...status } = internalError(message);
  return { metadata: {}, ...status, details: { causes: [{ message }] }, code };
}

/** Maximum length of an error message that is passed on. */
const maxRefusalLength = 50_000;

const redirects = new Set([301, 302, 303, 307, 308]);

/** Returns why a kubelet has not upgraded: the message of its Status, or its text. */
async function rejectionReason(response: IncomingMessage): Promise<string> {
  const { location } = response.headers;
  if (redirects.has(response.statusCode ?? 0) && location !== undefined) {
    response.destroy();
    return `error sending request: Post "${location}": redirect not allowed`;
  }
  let text = "";
  try {
    for await (const chunk of response) {
      text += String(chunk);
      if (text.length > maxRefusalLength) break;
    }
  } catch {
    return "unable to upgrade connection: unable to read error from server response";
  }
  return `unable to upgrade connection: ${messageOf(text) ?? (text.trim() || "empty server response")}`;
}

function messageOf(text: string): string | undefined {
  let status: unknown;
  try {
    status = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { message, error } = Object(status) as { message?: unknown; error?: unknown };
  const found = [message, error].find((each) => typeof each === "string" && each.trim() !== "");
  return found === undefined ? undefined : String(found).trim();
}

/** Returns a function that stops the pings. */
function startPings(milliseconds: number, ping: () => Promise<void>, clock: Clock): () => void {
  let cancel: () => void;
  const next = (): void => {
    cancel = clock.after(milliseconds, () => {
      void ping();
      next();
    });
  };
  next();
  return () => cancel();
}
