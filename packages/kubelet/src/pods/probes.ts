import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import type { IntOrString } from "@dray/api";
import type { HTTPGetAction, Probe, ProbeHandler } from "@dray/api/core/v1";
import type { Clock, Log } from "@dray/client";
import { tcpChannel } from "@dray/rpc";
import { HealthDefinition } from "@dray/rpc/grpchealth/v1";
import type { RuntimeService } from "../runtime/service.ts";
import type { StartableContainer } from "./plan.ts";

/** What a probe or a hook is about. */
export interface ProbeTarget {
  readonly podUid: string;
  readonly containerId: string;
  readonly spec: StartableContainer;
  readonly podIP: string;
}

type ProbeType = "readiness" | "liveness" | "startup";

/** How the probes of one container stand. */
interface ProbeStatus {
  /** True at once where there is no startup probe. */
  started: boolean;
  ready: boolean;
  /** The message of a liveness or startup probe that has failed for good. */
  failed: { readonly type: ProbeType; readonly message: string } | undefined;
  readonly stop: AbortController;
}

export interface ProbesOptions {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a container of a pod is found unhealthy, for the Unhealthy event. */
  unhealthy(podUid: string, message: string): void;
  /** Called when what `started`, `ready` or `failed` answer has changed. */
  changed(podUid: string): void;
}

/** Runs the probes of containers from their start to their end. */
export class Probes {
  readonly #options: ProbesOptions;
  readonly #statuses = new Map<string, ProbeStatus>();

  constructor(options: ProbesOptions) {
    this.#options = options;
  }

  /** Begins with the probes of a running container; a second call for the same container does nothing. */
  watch(target: ProbeTarget): void {
    if (this.#statuses.has(target.containerId)) return;
    const { startupProbe, readinessProbe, livenessProbe } = target.spec;
    const status: ProbeStatus = {
      started: startupProbe === undefined,
      ready: readinessProbe === undefined,
      failed: undefined,
      stop: new AbortController(),
    };
    this.#statuses.set(target.containerId, status);
    const rest = (): void => {
      if (readinessProbe !== undefined) this.#loop("readiness", readinessProbe, target, status);
      if (livenessProbe !== undefined) this.#loop("liveness", livenessProbe, target, status);
    };
    if (startupProbe === undefined) rest();
    else this.#loop("startup", startupProbe, target, status, rest);
  }

  forget(containerId: string): void {
    this.#statuses.get(containerId)?.stop.abort();
    this.#statuses.delete(containerId);
  }

  /** Ends all probes. */
  close(): void {
    for (const id of [...this.#statuses.keys()]) this.forget(id);
  }

  started(containerId: string): boolean {
    return this.#statuses.get(containerId)?.started ?? false;
  }

  ready(containerId: string): boolean {
    const status = this.#statuses.get(containerId);
    return (status?.started && status.ready) ?? false;
  }

  failed(containerId: string): { readonly type: string; readonly message: string } | undefined {
    return this.#statuses.get(containerId)?.failed;
  }

  #loop(
    type: ProbeType,
    probe: Probe,
    target: ProbeTarget,
    status: ProbeStatus,
    succeeded: () => void = () => {},
  ): void {
    const { clock } = this.#options;
    const { signal } = status.stop;
    const period = (probe.periodSeconds ?? 10) * 1000;
    let successes = 0;
    let failures = 0;
    const schedule = (milliseconds: number): void => {
      const cancel = clock.after(milliseconds, () => {
        signal.removeEventListener("abort", cancel);
        void once();
      });
      signal.addEventListener("abort", cancel, { once: true });
    };
    const once = async (): Promise<void> => {
      const problem = await this.#probe(probe, target, (probe.timeoutSeconds ?? 1) * 1000);
      if (signal.aborted) return;
      successes = problem === undefined ? successes + 1 : 0;
      failures = problem === undefined ? 0 : failures + 1;
      const name = `${type[0]?.toUpperCase()}${type.slice(1)}`;
      if (problem !== undefined) this.#options.unhealthy(target.podUid, `${name} probe failed: ${problem}`);
      const good = successes >= (probe.successThreshold ?? 1);
      const bad = failures >= (probe.failureThreshold ?? 3);
      if (type === "startup" && good) {
        status.started = true;
        this.#options.changed(target.podUid);
        succeeded();
        return;
      }
      if (type === "readiness" && (good || bad) && status.ready !== good) {
        status.ready = good;
        this.#options.changed(target.podUid);
      }
      if (type !== "readiness" && bad) {
        status.failed = { type, message: problem ?? "" };
        this.#options.changed(target.podUid);
        return;
      }
      schedule(period);
    };
    schedule((probe.initialDelaySeconds ?? 0) * 1000);
  }

  /** Undefined if healthy, else what is wrong. */
  async #probe(probe: Probe, target: ProbeTarget, timeout: number): Promise<string | undefined> {
    try {
      return await runHandler(probe, target, timeout, this.#options.runtime);
    } catch (error) {
      return (error as Error).message;
    }
  }
}

/** Runs one handler of a probe or a hook: undefined if it succeeded, else what it said. */
export async function runHandler(
  handler: ProbeHandler,
  target: ProbeTarget,
  timeout: number,
  runtime: RuntimeService,
): Promise<string | undefined> {
  const { exec, httpGet, tcpSocket, grpc } = handler;
  if (exec !== undefined) {
    const { exitCode, output } = await runtime.execSync(target.containerId, exec.command ?? [], timeout);
    return exitCode === 0 ? undefined : output || `command exited with ${exitCode}`;
  }
  if (httpGet !== undefined) return probeHttp(httpGet, target, timeout);
  if (tcpSocket !== undefined)
    return probeTcp(tcpSocket.host || target.podIP, portOf(tcpSocket.port, target.spec), timeout);
  if (grpc !== undefined) return probeGrpc(`${target.podIP}:${grpc.port}`, grpc.service ?? "", timeout);
  return "it names no handler";
}

function portOf(port: IntOrString, spec: StartableContainer): number {
  if (typeof port === "number") return port;
  const named = spec.ports?.find(({ name }) => name === port)?.containerPort ?? Number(port);
  if (!Number.isInteger(named)) throw new Error(`container "${spec.name}" has no port named "${port}"`);
  return named;
}

function probeHttp(get: HTTPGetAction, target: ProbeTarget, timeout: number): Promise<string | undefined> {
  const port = portOf(get.port, target.spec);
  const scheme = (get.scheme ?? "HTTP").toUpperCase();
  const host = get.host || target.podIP;
  const path = get.path || "/";
  const send = scheme === "HTTPS" ? httpsRequest : httpRequest;
  const headers: Record<string, string> = { "user-agent": "kube-probe/1", accept: "*/*" };
  for (const { name, value } of get.httpHeaders ?? []) headers[name] = value;
  return new Promise((resolve) => {
    const message = (text: string): string =>
      `Get "${scheme.toLowerCase()}://${host}:${port}${path}": ${text}`;
    const request = send(
      { host, port, path, headers, method: "GET", timeout, agent: false, rejectUnauthorized: false },
      (response) => {
        response.resume();
        const code = response.statusCode ?? 0;
        resolve(code >= 200 && code < 400 ? undefined : `HTTP probe failed with statuscode: ${code}`);
      },
    );
    request.on("timeout", () => request.destroy(new Error("context deadline exceeded")));
    request.on("error", (error) => resolve(message(error.message)));
    request.end();
  });
}

function probeTcp(host: string, port: number, timeout: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout }, () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.on("timeout", () => socket.destroy(new Error("i/o timeout")));
    socket.on("error", (error) => resolve(`dial tcp ${host}:${port}: ${error.message}`));
  });
}

async function probeGrpc(address: string, service: string, timeout: number): Promise<string | undefined> {
  const channel = tcpChannel(address);
  try {
    const { status } = await channel.caller(HealthDefinition).check({ service }, { timeout });
    return status === 1 ? undefined : `service unhealthy (responded with "${statusNames[status] ?? status}")`;
  } catch (error) {
    return `error: health rpc probe failed: ${(error as Error).message}`;
  } finally {
    channel.close();
  }
}

const statusNames: Record<number, string> = { 0: "UNKNOWN", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN" };
