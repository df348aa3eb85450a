import { connect } from "node:net";
import { durationText, type IntOrString } from "@dray/api";
import type { EnvVar, HTTPGetAction, LifecycleHandler, Pod, ProbeHandler } from "@dray/api/core/v1";
import type { Clock } from "@dray/client";
import { RpcError, tcpChannel } from "@dray/rpc";
import { HealthDefinition } from "@dray/rpc/grpchealth/v1";
import { expand } from "../containers/environment.ts";
import { RuntimeError } from "../runtime/error.ts";
import { podPort } from "../runtime/host/pod-port.ts";
import type { RuntimeService } from "../runtime/service.ts";
import type { StartableContainer } from "../types/containers.ts";
import { podText } from "../types/pod-text.ts";
import { type Dial, dialText, type HttpAnswer, httpGet } from "./http-get.ts";

/** The container of a probe or a hook. */
export interface ProbeTarget {
  readonly podUid: string;
  readonly containerId: string;
  readonly spec: StartableContainer;
  readonly podIP: string;
}

/** Dependencies of probes and hooks. */
export interface HandlerTools {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
}

/** Result of a probe; a warning is a success with an event. */
export interface ProbeOutcome {
  readonly result: "success" | "warning" | "failure";
  readonly output: string;
}

/**
 * How to connect with a loopback address, which for a kubelet is the node's; undefined for other addresses,
 * and for a node with the machine's network.
 */
function nodeDialer({ nodeNetwork }: RuntimeService, host: string): Dial | undefined {
  if (nodeNetwork === undefined || !/^(localhost|127(\.\d+){3}|::1)$/i.test(host)) return undefined;
  return (address, port) => nodeNetwork.connect(address, port);
}

/** The user agent of probes and hooks. */
const userAgent = (purpose: string): string => `kube-${purpose}/1.37`;

const failure = (output: string): ProbeOutcome => ({ result: "failure", output });
const success: ProbeOutcome = { result: "success", output: "" };

/**
 * Runs a probe once. Rejects without a result, which neither threshold counts.
 *
 * Upstream: pkg/kubelet/prober/prober.go, runProbe; pkg/probe.
 */
export async function runProbe(
  { exec, httpGet: get, tcpSocket, grpc }: ProbeHandler,
  target: ProbeTarget,
  timeout: number,
  { runtime, clock }: HandlerTools,
): Promise<ProbeOutcome> {
  const { podIP, spec, containerId } = target;
  if (exec !== undefined) {
    const command = (exec.command ?? []).map((word) => expandStatic(word, spec.env));
    try {
      const { exitCode, output } = await runtime.execSync(containerId, command, timeout);
      return { result: exitCode === 0 ? "success" : "failure", output };
    } catch (error) {
      if (!(error instanceof RuntimeError) || error.reason !== "ExecTimeout") throw error;
      const words = command.join(" ");
      return failure(`command ${JSON.stringify(words)} timed out: timeout ${seconds(timeout)} exceeded`);
    }
  }
  if (get !== undefined) {
    const request = requestOf(runtime, get, target, { timeout, purpose: "probe" });
    try {
      return httpOutcome(await httpGet(request, clock, nodeDialer(runtime, request.host)));
    } catch (error) {
      return failure((error as Error).message);
    }
  }
  if (tcpSocket !== undefined) {
    const host = tcpSocket.host || podIP;
    const port = portOf(tcpSocket.port, spec);
    return probeTcp({ host, port, servedAt: servedPort(runtime, host) }, timeout, nodeDialer(runtime, host));
  }
  if (grpc !== undefined) {
    const place = { host: podIP, port: grpc.port, servedAt: servedPort(runtime, podIP) };
    return probeGrpc(place, grpc.service ?? "", timeout, clock);
  }
  throw new Error(`missing probe handler for container ${spec.name}`);
}

/** A hook of a container. */
export interface Hook {
  readonly pod: Pod;
  readonly hook: LifecycleHandler;
  readonly target: ProbeTarget;
  /** Milliseconds. */
  readonly timeout: number;
}

/**
 * Runs a hook of a container. Resolves with the problem, or undefined; any HTTP response is a success.
 *
 * Upstream: pkg/kubelet/lifecycle/handlers.go, Run.
 */
export async function runHookHandler(
  { pod, hook: { exec, httpGet: get }, target, timeout }: Hook,
  { runtime, clock }: HandlerTools,
): Promise<string | undefined> {
  const where = `for Container ${JSON.stringify(target.spec.name)} in Pod ${JSON.stringify(podText(pod))} failed`;
  if (exec !== undefined) {
    const command = exec.command ?? [];
    const what = `Exec lifecycle hook ([${command.join(" ")}]) ${where}`;
    try {
      const { exitCode, output } = await runtime.execSync(target.containerId, command, timeout);
      if (exitCode === 0) return undefined;
      const error = `command '${command.join(" ")}' exited with ${exitCode}: ${output}`;
      return `${what} - error: ${error}, message: ${JSON.stringify(output)}`;
    } catch (error) {
      return `${what} - error: ${(error as Error).message}, message: ""`;
    }
  }
  if (get !== undefined)
    try {
      const request = requestOf(runtime, get, target, { timeout, purpose: "lifecycle" });
      const dial = nodeDialer(runtime, request.host);
      await httpGet(request, clock, dial).catch(async (error: Error) => {
        // For hooks from before the scheme was respected.
        if (!error.message.includes("server gave HTTP response to HTTPS client")) throw error;
        const headers = request.headers.filter(({ name }) => name.toLowerCase() !== "authorization");
        return httpGet({ ...request, scheme: "http", headers }, clock, dial);
      });
      return undefined;
    } catch (error) {
      return `HTTP lifecycle hook (${get.path ?? ""}) ${where} - error: ${(error as Error).message}`;
    }
  return "Cannot run handler: invalid handler: lifecycle hooks are of exec, httpGet or sleep";
}

/** Expands variables with literal values in the container's spec. */
function expandStatic(word: string, env: readonly EnvVar[] | undefined): string {
  return expand(
    word,
    (name) => env?.findLast((one) => one.name === name && one.valueFrom === undefined)?.value,
  );
}

function requestOf(
  runtime: RuntimeService,
  { host, port, path = "", scheme = "HTTP", httpHeaders = [] }: HTTPGetAction,
  { podIP, spec }: ProbeTarget,
  { timeout, purpose }: { readonly timeout: number; readonly purpose: string },
) {
  return {
    scheme: scheme.toLowerCase() === "https" ? "https" : "http",
    host: host || podIP,
    port: portOf(port, spec),
    servedAt: servedPort(runtime, host || podIP),
    path,
    headers: httpHeaders,
    userAgent: userAgent(purpose),
    timeout,
  } as const;
}

function httpOutcome({ status, body }: HttpAnswer): ProbeOutcome {
  if (status < 200 || status >= 400) return failure(`HTTP probe failed with statuscode: ${status}`);
  if (status < 300) return success;
  return { result: "warning", output: `Probe terminated redirects, Response body: ${body}` };
}

/** Target of a connection to a port of a pod or of another host. */
interface Place {
  readonly host: string;
  readonly port: number;
  /** Returns the port at which the host serves a port. */
  readonly servedAt: (port: number) => number;
}

/**
 * Processes of this machine may serve a port at the one in its place; those in a node's network serve what
 * they name.
 */
function servedPort(runtime: RuntimeService, host: string): Place["servedAt"] {
  const isShared = host.startsWith("127.") && nodeDialer(runtime, host) === undefined;
  return (port) => (isShared ? podPort(host, port) : port);
}

/** Upstream: pkg/probe/util.go, ResolveContainerPort. */
function portOf(port: IntOrString, spec: StartableContainer): number {
  const found =
    typeof port === "number"
      ? port
      : (spec.ports?.find(({ name }) => name === port)?.containerPort ?? Number(port));
  if (Number.isInteger(found) && found > 0 && found < 65536) return found;
  if (typeof port === "number") throw new Error(`invalid port number: ${port}`);
  throw new Error(`couldn't find port ${JSON.stringify(port)} in container ${JSON.stringify(spec.name)}`);
}

function joined(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

async function probeTcp(
  { host, port, servedAt }: Place,
  timeout: number,
  dial: Dial | undefined,
): Promise<ProbeOutcome> {
  const address = joined(host, port);
  if (dial !== undefined)
    try {
      (await dial(host, port)).destroy();
      return success;
    } catch (error) {
      return failure(dialText(error as Error, address));
    }
  return new Promise((resolve) => {
    const socket = connect({ host, port: servedAt(port), timeout }, () => {
      socket.destroy();
      resolve(success);
    });
    socket.on("timeout", () => {
      socket.destroy();
      resolve(failure(`dial tcp ${address}: i/o timeout`));
    });
    socket.on("error", (error) => resolve(failure(dialText(error, address))));
  });
}

async function probeGrpc(
  { host, port, servedAt }: Place,
  service: string,
  timeout: number,
  clock: Clock,
): Promise<ProbeOutcome> {
  const address = joined(host, port);
  const channel = tcpChannel(joined(host, servedAt(port)));
  const begin = clock.now();
  try {
    try {
      await channel.ready(timeout);
    } catch {
      const problem = "context deadline exceeded";
      return failure(
        `timeout: failed to connect service ${JSON.stringify(address)} within ${seconds(timeout)}: ${problem}`,
      );
    }
    const left = Math.max(1, timeout - (clock.now() - begin));
    const { status } = await channel.caller(HealthDefinition).check({ service }, { timeout: left });
    if (status === serving) return success;
    const name = statusNames[status] ?? String(status);
    return failure(`service unhealthy (responded with ${JSON.stringify(name)})`);
  } catch (error) {
    if (RpcError.is(error, "Unimplemented"))
      return failure(
        `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.detail}`,
      );
    if (RpcError.is(error, "DeadlineExceeded"))
      return failure(`timeout: health rpc did not complete within ${seconds(timeout)}`);
    return failure(`error: health rpc probe failed: ${(error as Error).message}`);
  } finally {
    channel.close();
  }
}

const serving = 1;
const statusNames: Readonly<Record<number, string>> = {
  0: "UNKNOWN",
  2: "NOT_SERVING",
  3: "SERVICE_UNKNOWN",
};

function seconds(milliseconds: number): string {
  return durationText(BigInt(Math.round(milliseconds * 1e6)));
}
