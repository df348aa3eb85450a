/** PersistentVolume. */
import { posix } from "node:path";
import type { ValidationContext } from "../../../checks/context.ts";
import { checkImmutable, type FieldErrors, goJson, printedMap, sameValue } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import { checkNodeSelector } from "../../../checks/nodeselector.ts";
import { unifiedDiff } from "../../../checks/unified-diff.ts";
import type { PersistentVolume, PersistentVolumeSpec, SecretReference } from "../../../generated/core/v1.ts";
import { typeRows } from "../../../schema/table.ts";
import { dnsLabel, dnsSubdomain } from "../../../values/names.ts";
import { Quantity } from "../../../values/quantity.ts";
import {
  checkAccessModes,
  checkBasicQuantity,
  checkVolumeMode,
} from "../persistent-volume-claim/validation.ts";
import { checkBackSteps } from "../pod/paths.ts";
import * as sources from "../pod/volume-sources.ts";

type Check = (errors: FieldErrors, path: string, source: never, volume: Volume) => void;
/** A spec, where it stands, and the name of its volume; `inline`: in a VolumeAttachment. */
interface Volume {
  readonly spec: PersistentVolumeSpec;
  readonly path: string;
  readonly name: string;
  readonly inline: boolean;
}
type Source<K extends keyof PersistentVolumeSpec> = PersistentVolumeSpec[K] & object;

function checkSecret(errors: FieldErrors, path: string, secret: SecretReference | undefined): void {
  if (!secret) return;
  errors.checkRequired(dnsSubdomain, `${path}.name`, secret.name);
  errors.checkRequired(dnsLabel, `${path}.namespace`, secret.namespace);
}

const secrets = [
  "controllerPublishSecretRef",
  "controllerExpandSecretRef",
  "nodePublishSecretRef",
  "nodeExpandSecretRef",
] as const;

const checkCsi: Check = (errors, path, source: Source<"csi">) => {
  sources.checkDriver(errors, `${path}.driver`, source.driver);
  if (!source.volumeHandle) errors.required(`${path}.volumeHandle`);
  for (const name of secrets) checkSecret(errors, `${path}.${name}`, source[name]);
};

const checkLocal: Check = (errors, path, source: Source<"local">, { spec, path: root }) => {
  if (source.path) checkBackSteps(errors, `${path}.path`, source.path);
  else errors.required(`${path}.path`);
  if ((spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).length === 0) {
    errors.required(`${root}.nodeAffinity`, "Local volume requires node affinity");
  }
};

const checkGluster: Check = (errors, path, source: Source<"glusterfs">) => {
  sources.checkGluster(errors, path, source);
  const namespace = source.endpointsNamespace;
  if (namespace === undefined || namespace === null) return;
  const at = `${path}.endpointsNamespace`;
  if (namespace === "") {
    errors.invalid(at, "", "if the endpointnamespace is set, it must be a valid namespace name");
  } else errors.check(dnsLabel, at, namespace);
};

const checkAzureFile: Check = (errors, path, source: Source<"azureFile">) => {
  sources.checkAzureFile(errors, path, source);
  if (source.secretNamespace === "") errors.required(`${path}.secretNamespace`);
};

/** The types in the order in which the server looks at them: the first that a volume has is taken. */
const types: readonly (readonly [name: keyof PersistentVolumeSpec, check: Check, shownAs?: string])[] = [
  ["hostPath", sources.checkHostPath as Check],
  ["gcePersistentDisk", sources.checkGoogleDisk as Check, "persistentDisk"],
  ["awsElasticBlockStore", sources.checkAmazonDisk as Check],
  ["glusterfs", checkGluster],
  ["flocker", sources.checkFlocker as Check],
  ["nfs", sources.checkNfs as Check],
  ["rbd", sources.checkRbd as Check],
  ["quobyte", sources.checkQuobyte as Check],
  ["cephfs", sources.checkCeph as Check],
  [
    "iscsi",
    (errors, path, source: Source<"iscsi">, { name }) => sources.checkIscsi(errors, path, source, name),
  ],
  ["cinder", (errors, path, source: Source<"cinder">) => sources.checkCinder(errors, path, source, true)],
  ["fc", sources.checkFibre as Check],
  ["flexVolume", sources.checkFlex as Check],
  ["azureFile", checkAzureFile],
  ["vsphereVolume", sources.simpleSources.vsphereVolume as Check],
  ["photonPersistentDisk", sources.simpleSources.photonPersistentDisk as Check],
  ["portworxVolume", sources.simpleSources.portworxVolume as Check],
  ["azureDisk", sources.checkAzureDisk as Check],
  ["scaleIO", sources.checkScaleIo as Check],
  ["local", checkLocal],
  [
    "storageos",
    (errors, path, source: Source<"storageos">) => sources.checkStorageOs(errors, path, source, true),
  ],
  ["csi", checkCsi],
];

function checkSource(errors: FieldErrors, volume: Volume): void {
  const { path } = volume;
  let count = 0;
  for (const [name, check, shownAs = name] of types) {
    const source = volume.spec[name];
    if (source === undefined || source === null) continue;
    // A flex volume is validated even beside another source.
    if (count > 0 && name !== "flexVolume") {
      const shown = name === "cephfs" ? "cephFS" : name;
      errors.forbidden(`${path}.${shown}`, "may not specify more than 1 volume type");
      continue;
    }
    count++;
    check(errors, `${path}.${shownAs}`, source as never, volume);
  }
  if (count === 0) errors.required(path, "must specify a volume type");
}

const policies = ["Delete", "Recycle", "Retain"];

function checkInline(errors: FieldErrors, { spec, path }: Volume): void {
  const detail = "may not be specified in the context of inline volumes";
  if (spec.claimRef) errors.forbidden(`${path}.claimRef`, detail);
  if (Object.keys(spec.capacity ?? {}).length > 0) errors.forbidden(`${path}.capacity`, detail);
  if (!spec.csi) errors.required(`${path}.csi`, "has to be specified in the context of inline volumes");
}

function checkCapacity(errors: FieldErrors, { spec, path }: Volume): void {
  const at = `${path}.capacity`;
  const names = Object.keys(spec.capacity ?? {});
  if (names.length === 0) errors.required(at);
  if (names.length !== 1 || names[0] !== "storage") {
    errors.notSupported(at, printedMap(spec, "capacity"), ["storage"]);
  }
  for (const [name, size] of Object.entries(spec.capacity ?? {})) {
    checkBasicQuantity(errors, `${at}[${name}]`, size);
    if (Quantity.parse(size).sign <= 0) errors.invalid(`${at}[${name}]`, size, "must be greater than zero");
  }
}

function checkPolicy(errors: FieldErrors, { spec, path, inline }: Volume): void {
  const policy = spec.persistentVolumeReclaimPolicy;
  if (!policy) return;
  const at = `${path}.persistentVolumeReclaimPolicy`;
  if (!inline) {
    if (!policies.includes(policy)) errors.notSupported(at, policy, policies);
  } else if (policy !== "Retain") errors.forbidden(at, "may only be Retain in the context of inline volumes");
}

function checkAffinity(errors: FieldErrors, { spec, path, inline }: Volume): void {
  const at = `${path}.nodeAffinity`;
  if (!spec.nodeAffinity) return;
  if (inline) errors.forbidden(at, "may not be specified in the context of inline volumes");
  else if (spec.nodeAffinity.required)
    checkNodeSelector(errors, `${at}.required`, spec.nodeAffinity.required);
  else errors.required(`${at}.required`, "must specify required node constraints");
}

function checkSpec(errors: FieldErrors, volume: Volume): void {
  const { spec, path, inline } = volume;
  if (inline) checkInline(errors, volume);
  if ((spec.accessModes ?? []).length === 0) errors.required(`${path}.accessModes`);
  checkAccessModes(errors, `${path}.accessModes`, spec.accessModes);
  if (!inline) checkCapacity(errors, volume);
  checkPolicy(errors, volume);
  checkAffinity(errors, volume);
  checkSource(errors, volume);
  const recycled = spec.persistentVolumeReclaimPolicy === "Recycle";
  if (spec.hostPath && recycled && /^\/\/*$/.test(posix.normalize(spec.hostPath.path || "."))) {
    const detail = "may not be 'recycle' for a hostPath mount of '/'";
    errors.forbidden(`${path}.persistentVolumeReclaimPolicy`, detail);
  }
  if (spec.storageClassName) {
    const at = `${path}.storageClassName`;
    if (inline) errors.forbidden(at, "may not be specified in the context of inline volumes");
    else errors.check(dnsSubdomain, at, spec.storageClassName);
  }
  if (inline && spec.volumeMode && spec.volumeMode !== "Filesystem") {
    errors.forbidden(
      `${path}.volumeMode`,
      "may not specify volumeMode other than Filesystem in the context of inline volumes",
    );
  } else checkVolumeMode(errors, `${path}.volumeMode`, spec.volumeMode);
  const attributes = spec.volumeAttributesClassName;
  if (inline || attributes === undefined || attributes === null) return;
  const at = `${path}.volumeAttributesClassName`;
  if (attributes === "") errors.required(at, "an empty string is disallowed");
  else errors.check(dnsSubdomain, at, attributes);
  if (!spec.csi) errors.required(`${path}.csi`, "has to be specified when using volumeAttributesClassName");
}

/**
 * The spec of a volume in a VolumeAttachment: one of a CSI driver, and nothing that a claim would be about.
 */
export function checkInlineVolume(errors: FieldErrors, path: string, spec: PersistentVolumeSpec): void {
  checkSpec(errors, { spec, path, name: "", inline: true });
}

/** The volume's type alone, as the server's own struct has it. */
function sourceOf(spec: PersistentVolumeSpec | undefined): PersistentVolumeSpec {
  const own: Record<string, unknown> = {};
  for (const [name] of typeRows.get("core/v1.PersistentVolumeSource") ?? []) {
    const source = spec?.[name as keyof PersistentVolumeSpec];
    if (source !== undefined) own[name] = source;
  }
  return own as PersistentVolumeSpec;
}

function checkUpdate(
  errors: FieldErrors,
  volume: PersistentVolume,
  old: PersistentVolume,
  { features }: ValidationContext,
): void {
  let now = sourceOf(volume.spec);
  const before = sourceOf(old.spec);
  if (before.csi && !before.csi.controllerExpandSecretRef && now.csi?.controllerExpandSecretRef) {
    const { controllerExpandSecretRef: _later, ...csi } = now.csi;
    now = { ...now, csi };
  }
  const form = (source: PersistentVolumeSpec): unknown =>
    internalForm("core/v1.PersistentVolumeSource", source, features.version);
  if (!sameValue(form(now), form(before))) {
    const printed = (source: PersistentVolumeSpec): string => goJson(form(source), 1);
    errors.forbidden(
      "spec.persistentvolumesource",
      `spec.persistentvolumesource is immutable after creation\n${unifiedDiff(printed(before), printed(now))}`,
    );
  }
  checkImmutable(errors, "volumeMode", volume.spec?.volumeMode, old.spec?.volumeMode);
  if (old.spec?.nodeAffinity && !sameValue(volume.spec?.nodeAffinity, old.spec.nodeAffinity)) {
    const printed = internalForm("core/v1.VolumeNodeAffinity", volume.spec?.nodeAffinity, features.version);
    errors.invalid("nodeAffinity", printed, "field is immutable, except for updating from beta label to GA");
  }
  if (
    old.spec?.volumeAttributesClassName !== undefined &&
    volume.spec?.volumeAttributesClassName === undefined
  ) {
    errors.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden");
  }
}

function checkAll(errors: FieldErrors, volume: PersistentVolume): void {
  checkMetadata(errors, "metadata", volume.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors, "metadata", volume.metadata);
  const { name = "" } = volume.metadata;
  checkSpec(errors, { spec: volume.spec ?? {}, path: "spec", name, inline: false });
}

export const persistentVolumeValidation = {
  create: checkAll,
  update(
    errors: FieldErrors,
    volume: PersistentVolume,
    old: PersistentVolume,
    context: ValidationContext,
  ): void {
    // Upstream looks at an update twice.
    checkAll(errors, volume);
    checkAll(errors, volume);
    checkUpdate(errors, volume, old, context);
  },
  status(errors: FieldErrors, volume: PersistentVolume, old: PersistentVolume): void {
    checkMetadataUpdate(errors, "metadata", volume.metadata, old.metadata);
  },
};
