import type { Features } from "@dray/api";
import { PodCertificateRequest } from "@dray/api/certificates/v1";
import { type Node, type Pod, type PodCertificateProjection, ServiceAccount } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import {
  type Client,
  type Clock,
  createWorkQueue,
  type EventRecorder,
  hasReached,
  type Informer,
  type Log,
  type WorkQueue,
} from "@dray/client";
import { head, labelText } from "../metrics/histogram.ts";
import { makeCertificateKey } from "./certificate-key.ts";
import { certificatesIn } from "./certificate-text.ts";

export interface PodCertificatesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly features: Features;
  readonly nodeName: string;
  node(): Node;
  /** Undefined for a pod that the node no longer has. */
  pod(uid: string): Pod | undefined;
  random(): number;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Called when a request of the pod was decided: its volumes are outdated. */
  changed(podUid: string): void;
}

/** Contents of a podCertificate source of a projected volume, in PEM. */
export interface Credentials {
  readonly privateKey: string;
  readonly certificateChain: string;
}

/** The signer has not decided yet. */
export class NotIssuedError extends Error {
  override readonly name = "NotIssuedError";
}

/** An issued certificate. Times in milliseconds since the epoch. */
interface Issued extends Credentials {
  /** With jitter. */
  readonly beginRefreshAt: number;
  readonly notAfter: number;
}

interface Source {
  readonly podUid: string;
  readonly projection: PodCertificateProjection;
  issued?: Issued | undefined;
  /** The pending request of the signer. */
  pending?: { readonly privateKey: string; readonly request: PodCertificateRequest } | undefined;
  /** Final refusal of the signer. */
  refusal?: { readonly type: "Denied" | "Failed"; readonly text: string };
  /** Why no request was created. */
  problem?: string | undefined;
  /** Reasons of events about `issued`. */
  readonly reported: Set<string>;
}

/** Spreads refreshes of many pods. Upstream: pkg/kubelet/podcertificate, jitterDuration. */
const maxJitter = 5 * 60_000;
/** Upstream: refreshOverdueDuration. */
const overdueAfter = 10 * 60_000;
const firstRetryDelay = 1000;

const metric = "kubelet_podcertificate_states";

/**
 * Certificates of pods (KEP-4317): makes the key of each `podCertificate` source, requests a certificate of
 * its signer with a PodCertificateRequest, and refreshes it when it is due. Nothing is kept over restarts of
 * the agent, as upstream. PodCertificateRequests are watched from the first one on.
 *
 * Upstream: pkg/kubelet/podcertificate
 */
export class PodCertificates {
  readonly #options: PodCertificatesOptions;
  readonly #sources = new Map<string, Source>();
  /** Sources with a pending request, by its UID. */
  readonly #waiting = new Map<string, string>();
  readonly #queue: WorkQueue;
  #informer: Informer<PodCertificateRequest> | undefined;

  constructor(options: PodCertificatesOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#queue = createWorkQueue({
      name: "pod certificates",
      clock,
      log,
      concurrency: Number.POSITIVE_INFINITY,
      baseDelay: firstRetryDelay,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  /** Requests certificates for all sources of the pod, and refreshes them until `forget`. */
  track({ metadata: { uid }, spec }: Pod): void {
    if (!this.#options.features.enabled("PodCertificateRequest")) return;
    for (const { name, projected } of spec.volumes ?? [])
      for (const [index, { podCertificate }] of (projected?.sources ?? []).entries()) {
        const key = keyOf(uid, name, index);
        if (podCertificate === undefined || this.#sources.has(key)) continue;
        this.#sources.set(key, { podUid: uid, projection: podCertificate, reported: new Set() });
        this.#queue.add(key);
      }
  }

  forget(podUid: string): void {
    for (const [key, source] of this.#sources)
      if (source.podUid === podUid) {
        this.#sources.delete(key);
        this.#settled(source);
      }
  }

  /**
   * Returns the key and certificate of a source of a tracked pod. Throws `NotIssuedError` while its signer
   * has not decided, and an error with the signer's reason after a refusal.
   */
  credentials(podUid: string, volume: string, index: number): Credentials {
    const source = this.#sources.get(keyOf(podUid, volume, index));
    if (source === undefined)
      throw new Error("podCertificate sources need the feature gate PodCertificateRequest on this node");
    const { issued, refusal, problem, pending, projection } = source;
    if (refusal !== undefined)
      throw new Error(`PodCertificateRequest was permanently ${refusal.type.toLowerCase()}: ${refusal.text}`);
    if (issued !== undefined) return issued;
    if (problem !== undefined) throw new Error(`credential bundle is not issued yet: ${problem}`);
    const { namespace = "", name = "" } = pending?.request.metadata ?? {};
    const waitsFor =
      pending === undefined
        ? ""
        : `: signer ${projection.signerName} has not decided on PodCertificateRequest ${namespace}/${name}`;
    throw new NotIssuedError(`credential bundle is not issued yet${waitsFor}`);
  }

  /**
   * Metrics in the text format of Prometheus. Upstream:
   * pkg/kubelet/metrics/collectors/podcertificate_metrics.go.
   */
  metrics(): string {
    const counts = new Map<string, number>();
    for (const source of this.#sources.values()) {
      const state = stateOf(source, this.#options.clock.now());
      const labels = labelText({ signer_name: source.projection.signerName ?? "", state });
      counts.set(labels, (counts.get(labels) ?? 0) + 1);
    }
    if (counts.size === 0) return "";
    const help =
      "Gauge vector reporting the number of pod certificate projected volume sources, faceted by signer_name and state.";
    const lines = [...counts].map(([labels, count]) => `${metric}{${labels}} ${count}`);
    return `${[...head(metric, help, "gauge"), ...lines].join("\n")}\n`;
  }

  stop(): Promise<void> {
    return this.#queue.close();
  }

  async #reconcile(key: string): Promise<void> {
    const source = this.#sources.get(key);
    if (source === undefined || source.refusal !== undefined) return;
    const pod = this.#options.pod(source.podUid);
    if (pod === undefined || isPodTerminal(pod)) return;
    if (source.pending !== undefined) await this.#readDecision(source, pod);
    this.#reportOverdue(source, pod);
    const { issued, pending } = source;
    const now = this.#options.clock.now();
    const due = pending === undefined && (issued === undefined || issued.beginRefreshAt <= now);
    if (due && source.refusal === undefined) await this.#request(key, source, pod);
    if (issued !== undefined) this.#scheduleRefresh(key, issued);
  }

  /** Reads the decision of the signer. Rejects if the request was deleted: another one follows. */
  async #readDecision(source: Source, pod: Pod): Promise<void> {
    const { events, random, changed, signal } = this.#options;
    const { pending } = source;
    const informer = this.#informer;
    if (pending === undefined || informer === undefined) return;
    await informer.until(() => hasReached(informer, pending.request));
    if (signal.aborted || source.pending !== pending) return;
    const { namespace, name, uid } = pending.request.metadata;
    const found = informer.get({ namespace, name });
    if (found?.metadata.uid !== uid) {
      // Upstream cannot distinguish this from a watch that lags behind, and waits for 10 minutes.
      this.#settled(source);
      throw new Error(`PodCertificateRequest "${namespace}/${name}" appears to have been deleted`);
    }
    const { conditions = [], certificateChain = "", beginRefreshAt, notAfter } = found.status ?? {};
    for (const { type, reason, message } of conditions) {
      if (type === "Issued") {
        this.#settled(source);
        const timeOf = (text: string | undefined): number =>
          text === undefined ? Number.POSITIVE_INFINITY : Date.parse(text);
        source.issued = {
          privateKey: pending.privateKey,
          certificateChain: certificatesIn(certificateChain).join(""),
          beginRefreshAt: timeOf(beginRefreshAt) + random() * maxJitter,
          notAfter: timeOf(notAfter),
        };
        source.reported.clear();
      } else if (type === "Denied" || type === "Failed") {
        this.#settled(source);
        const text = `reason=${JSON.stringify(reason)} message=${JSON.stringify(message)}`;
        source.refusal = { type, text };
        const how = type === "Denied" ? "was denied" : "failed";
        events.event(pod, "Warning", type, `PodCertificateRequest ${namespace}/${name} ${how}, ${text}`);
      } else continue;
      changed(source.podUid);
      return;
    }
  }

  async #request(key: string, source: Source, pod: Pod): Promise<void> {
    const { client, nodeName, node, log } = this.#options;
    const { signerName = "", keyType = "", maxExpirationSeconds, userAnnotations } = source.projection;
    const { namespace, name, uid } = pod.metadata;
    const serviceAccountName = pod.spec.serviceAccountName || "default";
    let step = "fetching service account";
    try {
      const account = await client.resource(ServiceAccount).get({ namespace, name: serviceAccountName });
      step = "generating keypair";
      const { privateKey, stubRequest } = await makeCertificateKey(keyType);
      step = "creating PodCertificateRequest";
      const request = await client.resource(PodCertificateRequest).create({
        metadata: {
          namespace,
          generateName: "req-",
          ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }],
        },
        spec: {
          signerName,
          podName: name,
          podUID: uid,
          serviceAccountName,
          serviceAccountUID: account.metadata.uid,
          nodeName,
          nodeUID: node().metadata.uid,
          stubPKCS10Request: stubRequest,
          ...(maxExpirationSeconds !== undefined && { maxExpirationSeconds }),
          ...(userAnnotations !== undefined && { unverifiedUserAnnotations: userAnnotations }),
        },
      });
      log.debug({ pod: name, signerName, request: request.metadata.name }, "asking for a certificate");
      source.problem = undefined;
      // The pod may have been removed meanwhile; its request is removed with it.
      if (this.#sources.get(key) !== source) return;
      source.pending = { privateKey, request };
      this.#waiting.set(request.metadata.uid, key);
      this.#follow();
      this.#queue.add(key);
    } catch (error) {
      const problem = `while ${step}: ${(error as Error).message}`;
      // Reported once as a problem of the pod, not for each attempt.
      if (source.problem !== problem && source.issued === undefined) this.#options.changed(source.podUid);
      source.problem = problem;
      throw new Error(problem, { cause: error });
    }
  }

  /** The node may read the requests of its own pods only. */
  #follow(): void {
    if (this.#informer !== undefined) return;
    const { client, nodeName, signal } = this.#options;
    this.#informer = client.informer(PodCertificateRequest, { fieldSelector: `spec.nodeName=${nodeName}` });
    const see = ({ metadata }: PodCertificateRequest): void => {
      const key = this.#waiting.get(metadata.uid);
      if (key !== undefined) this.#queue.add(key);
    };
    this.#informer.handle({ add: see, update: see, delete: see });
    void this.#informer.start(signal);
  }

  /** Ends the wait for a decision. */
  #settled(source: Source): void {
    if (source.pending !== undefined) this.#waiting.delete(source.pending.request.metadata.uid);
    source.pending = undefined;
  }

  #reportOverdue({ issued, reported }: Source, pod: Pod): void {
    if (issued === undefined) return;
    const now = this.#options.clock.now();
    const warnOnce = (reason: string, message: string): void => {
      if (reported.has(reason)) return;
      reported.add(reason);
      this.#options.events.event(pod, "Warning", reason, message);
    };
    if (now > issued.beginRefreshAt + overdueAfter)
      warnOnce("CertificateOverdueForRefresh", "PodCertificate refresh overdue");
    if (now > issued.notAfter) warnOnce("CertificateExpired", "PodCertificate expired");
  }

  /** Schedules the refresh of the certificate, or the event about a late one. */
  #scheduleRefresh(key: string, { beginRefreshAt, notAfter }: Issued): void {
    const now = this.#options.clock.now();
    for (const time of [beginRefreshAt, beginRefreshAt + overdueAfter + 1, notAfter + 1])
      if (time > now && Number.isFinite(time)) this.#queue.addAfter(key, time - now);
  }
}

function keyOf(podUid: string, volume: string, index: number): string {
  return [podUid, volume, index].join("/");
}

function stateOf({ issued, refusal }: Source, now: number): string {
  if (refusal !== undefined) return refusal.type.toLowerCase();
  if (issued === undefined) return "not_yet_issued";
  if (now > issued.notAfter) return "expired";
  return now > issued.beginRefreshAt + overdueAfter ? "overdue_for_refresh" : "fresh";
}
