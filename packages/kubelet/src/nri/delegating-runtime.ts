import type { Duplex } from "node:stream";
import type { ResourceConfig } from "../runtime/config.ts";
import type {
  ClientStreams,
  Command,
  Container,
  ContainerStats,
  ExecResult,
  LinuxSandbox,
  LogLine,
  NodeNetworkService,
  PodNetworkService,
  ReadLogOptions,
  RuntimeService,
  Sandbox,
} from "../runtime/service.ts";

import type { MachineServices } from "../services/machine-services.ts";

/** The methods of a runtime that concern no plugin, each passed to the inner runtime. */
export abstract class DelegatingRuntime {
  protected readonly inner: RuntimeService;

  constructor(inner: RuntimeService) {
    this.inner = inner;
  }

  get name(): string {
    return this.inner.name;
  }

  get checksMounts(): boolean {
    return this.inner.checksMounts ?? false;
  }

  get recursiveReadOnly(): boolean {
    return this.inner.recursiveReadOnly ?? false;
  }

  userOfPod(podUid: string): number | undefined {
    return this.inner.userOfPod(podUid);
  }

  get runsAsRoot(): boolean {
    return this.inner.runsAsRoot ?? true;
  }

  get version(): string {
    return this.inner.version;
  }

  get limits(): readonly string[] {
    return this.inner.limits;
  }

  get writesResolvConf(): boolean {
    return this.inner.writesResolvConf ?? false;
  }

  get machineServices(): MachineServices | undefined {
    return this.inner.machineServices;
  }

  get network(): PodNetworkService | undefined {
    return this.inner.network;
  }

  get nodeNetwork(): NodeNetworkService | undefined {
    return this.inner.nodeNetwork;
  }

  listPodSandboxes(podUid?: string): Promise<readonly Sandbox[]> {
    return this.inner.listPodSandboxes(podUid);
  }

  linuxSandbox(id: string): LinuxSandbox | undefined {
    return this.inner.linuxSandbox?.(id);
  }

  listContainers(podUid?: string): Promise<readonly Container[]> {
    return this.inner.listContainers(podUid);
  }

  heedsTermination(id: string): boolean {
    return this.inner.heedsTermination?.(id) ?? true;
  }

  updatePodSandboxResources(id: string, resources: ResourceConfig): Promise<void> {
    return this.inner.updatePodSandboxResources(id, resources);
  }

  listContainerStats(): Promise<readonly ContainerStats[]> {
    return this.inner.listContainerStats();
  }

  execSync(id: string, command: readonly string[], timeoutMilliseconds: number): Promise<ExecResult> {
    return this.inner.execSync(id, command, timeoutMilliseconds);
  }

  exec(command: Command, streams: ClientStreams, signal: AbortSignal): Promise<number> {
    return this.inner.exec(command, streams, signal);
  }

  attach(id: string, streams: ClientStreams, signal: AbortSignal): Promise<void> {
    return this.inner.attach(id, streams, signal);
  }

  portForward(sandboxId: string, port: number, stream: Duplex): Promise<void> {
    return this.inner.portForward(sandboxId, port, stream);
  }

  readLog(logPath: string, options?: ReadLogOptions): AsyncIterable<readonly LogLine[]> {
    return this.inner.readLog(logPath, options);
  }

  rotateContainerLog(id: string, to: string): Promise<void> {
    return this.inner.rotateContainerLog(id, to);
  }

  onChange(handler: (podUid: string) => void): () => void {
    return this.inner.onChange(handler);
  }
}
