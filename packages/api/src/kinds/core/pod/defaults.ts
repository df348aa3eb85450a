import { type KubernetesVersion, minorOf } from "../../../features/features.ts";
import type {
  Container,
  EphemeralContainer,
  HTTPGetAction,
  Lifecycle,
  ObjectFieldSelector,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Probe,
  ResourceRequirements,
  Volume,
} from "../../../generated/core/v1.ts";
import type { QuantityText } from "../../../objects/object.ts";
import type { Wire } from "../../../objects/wire.ts";
import { defaultPodLevelResources } from "../../../pod/resource-defaults.ts";
import { Quantity } from "../../../values/quantity.ts";
import type { DefaultsContext } from "../../define.ts";
import { defaultHostPath } from "../host-path-defaults.ts";
import { implicitPullPolicy } from "./image.ts";

type AnyContainer = Wire<Container> | Wire<EphemeralContainer>;
type Quantities = Record<string, QuantityText>;

/** Default file mode of volumes of files: 0644. */
const defaultMode = 0o644;
const milli = -3;

/** Nothing smaller than a thousandth is kept of a resource. */
export function roundResources(list: Quantities | null | undefined): void {
  if (!list) return;
  for (const [name, text] of Object.entries(list))
    list[name] = Quantity.parse(String(text)).roundUp(milli).toString();
}

function defaultRequirements(resources: Wire<ResourceRequirements> | null | undefined): void {
  roundResources(resources?.limits);
  roundResources(resources?.requests);
}

function defaultHttp(action: Wire<HTTPGetAction> | null | undefined): void {
  if (!action) return;
  action.path ||= "/";
  action.scheme ||= "HTTP";
}

function defaultProbe(probe: Wire<Probe> | null | undefined): void {
  if (!probe) return;
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHttp(probe.httpGet);
}

function defaultLifecycle(lifecycle: Wire<Lifecycle> | null | undefined): void {
  defaultHttp(lifecycle?.postStart?.httpGet);
  defaultHttp(lifecycle?.preStop?.httpGet);
}

function defaultFieldRef(selector: Wire<ObjectFieldSelector> | null | undefined): void {
  if (selector) selector.apiVersion ||= "v1";
}

function defaultContainer(container: AnyContainer): void {
  container.imagePullPolicy ||= implicitPullPolicy(container.image ?? "");
  container.terminationMessagePath ||= "/dev/termination-log";
  container.terminationMessagePolicy ||= "File";
  for (const variable of container.env ?? []) defaultFieldRef(variable.valueFrom?.fieldRef);
  defaultRequirements(container.resources);
  defaultProbe(container.livenessProbe);
  defaultProbe(container.readinessProbe);
  defaultProbe(container.startupProbe);
  defaultLifecycle(container.lifecycle);
}

function defaultVolume(volume: Wire<Volume>): void {
  const sources = Object.entries(volume).filter(([name, source]) => name !== "name" && source != null);
  if (sources.length === 0) volume.emptyDir = {};
  defaultHostPath(volume.hostPath);
  if (volume.secret) volume.secret.defaultMode ??= defaultMode;
  if (volume.configMap) volume.configMap.defaultMode ??= defaultMode;
  if (volume.downwardAPI) {
    volume.downwardAPI.defaultMode ??= defaultMode;
    for (const item of volume.downwardAPI.items ?? []) defaultFieldRef(item.fieldRef);
  }
  if (volume.projected) {
    volume.projected.defaultMode ??= defaultMode;
    for (const source of volume.projected.sources ?? []) {
      for (const item of source.downwardAPI?.items ?? []) defaultFieldRef(item.fieldRef);
      if (source.serviceAccountToken) source.serviceAccountToken.expirationSeconds ??= 3600;
    }
  }
  if (volume.image) volume.image.pullPolicy ||= implicitPullPolicy(volume.image.reference ?? "");
  if (volume.ephemeral?.volumeClaimTemplate) {
    const { volumeClaimTemplate } = volume.ephemeral;
    volumeClaimTemplate.spec ??= {};
    const { spec } = volumeClaimTemplate;
    spec.volumeMode ??= "Filesystem";
    roundResources(spec.resources?.limits);
    roundResources(spec.resources?.requests);
  }
}

/** Defaults that pods and pod templates share. */
function defaultPodSpec(spec: Wire<PodSpec>): void {
  spec.dnsPolicy ||= "ClusterFirst";
  spec.restartPolicy ||= "Always";
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ||= "default-scheduler";
  // The two names of one field; the older one is kept in step for old readers.
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of spec.initContainers ?? []) defaultContainer(container);
  for (const container of spec.containers ?? []) defaultContainer(container);
  for (const container of spec.ephemeralContainers ?? []) defaultContainer(container);
  roundResources(spec.overhead);
  defaultRequirements(spec.resources);
}

/** A limit without a request is a request too. */
function requestWhatIsLimited(resources: Wire<ResourceRequirements> | null | undefined): void {
  if (!resources?.limits) return;
  resources.requests ??= {};
  for (const [name, limit] of Object.entries(resources.limits)) resources.requests[name] ??= limit;
}

function publishOnHost(container: Wire<Container>): void {
  for (const port of container.ports ?? []) port.hostPort ||= port.containerPort ?? 0;
}

/** Defaults of the template of a workload. */
export function defaultPodTemplate(template: Wire<PodTemplateSpec> | null | undefined): void {
  if (!template) return;
  template.spec ??= { containers: [] };
  defaultPodSpec(template.spec);
}

export function defaultPod(pod: Wire<Pod>, { release }: DefaultsContext): void {
  pod.spec ??= { containers: [] };
  const { spec } = pod;
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  for (const container of containers) requestWhatIsLimited(container.resources);
  defaultPodSpec(spec);
  // They read the resources only, which are checked when the body is decoded.
  if (minorOf(release) < 37) defaultPodLevelResources(spec as PodSpec, release as KubernetesVersion);
  spec.enableServiceLinks ??= true;
  if (spec.hostNetwork) for (const container of containers) publishOnHost(container);
  defaultPodStatus(pod);
}

/** `podIP` is the first of `podIPs`; a client that writes the older field only writes both. */
function defaultPodStatus({ status }: Wire<Pod>): void {
  if (!status) return;
  const first = status.podIPs?.[0]?.ip;
  if (status.podIP) {
    if (first !== status.podIP) status.podIPs = [{ ip: status.podIP }];
  } else if (first) status.podIP = first;
}
