/** PersistentVolume. */
import { posix } from "node:path";
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

/** `errors` is the scope of the source, `ofSpec` that of the spec. */
type Check = (errors: FieldErrors, source: never, volume: Volume, ofSpec: FieldErrors) => void;
/** A spec and the name of its volume; `inline`: in a VolumeAttachment. */
interface Volume {
  readonly spec: PersistentVolumeSpec;
  readonly name: string;
  readonly inline: boolean;
}
type Source<K extends keyof PersistentVolumeSpec> = PersistentVolumeSpec[K] & object;

function checkSecret(errors: FieldErrors, secret: SecretReference | undefined): void {
  if (!secret) return;
  errors.at("name").checkRequired(dnsSubdomain, secret.name);
  errors.at("namespace").checkRequired(dnsLabel, secret.namespace);
}

const secrets = [
  "controllerPublishSecretRef",
  "controllerExpandSecretRef",
  "nodePublishSecretRef",
  "nodeExpandSecretRef",
] as const;

const checkCsi: Check = (errors, source: Source<"csi">) => {
  sources.checkDriver(errors.at("driver"), source.driver);
  if (!source.volumeHandle) errors.at("volumeHandle").required();
  for (const name of secrets) checkSecret(errors.at(name), source[name]);
};

const checkLocal: Check = (errors, source: Source<"local">, { spec }, ofSpec) => {
  if (source.path) checkBackSteps(errors.at("path"), source.path);
  else errors.at("path").required();
  if ((spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).length === 0) {
    ofSpec.at("nodeAffinity").required("Local volume requires node affinity");
  }
};

const checkGluster: Check = (errors, source: Source<"glusterfs">) => {
  sources.checkGluster(errors, source);
  const namespace = source.endpointsNamespace;
  if (namespace === undefined || namespace === null) return;
  const here = errors.at("endpointsNamespace");
  if (namespace === "") {
    here.invalid("", "if the endpointnamespace is set, it must be a valid namespace name");
  } else here.check(dnsLabel, namespace);
};

const checkAzureFile: Check = (errors, source: Source<"azureFile">) => {
  sources.checkAzureFile(errors, source);
  if (source.secretNamespace === "") errors.at("secretNamespace").required();
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
  ["iscsi", (errors, source: Source<"iscsi">, { name }) => sources.checkIscsi(errors, source, name)],
  ["cinder", (errors, source: Source<"cinder">) => sources.checkCinder(errors, source, true)],
  ["fc", sources.checkFibre as Check],
  ["flexVolume", sources.checkFlex as Check],
  ["azureFile", checkAzureFile],
  ["vsphereVolume", sources.simpleSources.vsphereVolume as Check],
  ["photonPersistentDisk", sources.simpleSources.photonPersistentDisk as Check],
  ["portworxVolume", sources.simpleSources.portworxVolume as Check],
  ["azureDisk", sources.checkAzureDisk as Check],
  ["scaleIO", sources.checkScaleIo as Check],
  ["local", checkLocal],
  ["storageos", (errors, source: Source<"storageos">) => sources.checkStorageOs(errors, source, true)],
  ["csi", checkCsi],
];

function checkSource(errors: FieldErrors, volume: Volume): void {
  let count = 0;
  for (const [name, check, shownAs = name] of types) {
    const source = volume.spec[name];
    if (source === undefined || source === null) continue;
    // A flex volume is validated even beside another source.
    if (count > 0 && name !== "flexVolume") {
      const shown = name === "cephfs" ? "cephFS" : name;
      errors.at(shown).forbidden("may not specify more than 1 volume type");
      continue;
    }
    count++;
    check(errors.at(shownAs), source as never, volume, errors);
  }
  if (count === 0) errors.required("must specify a volume type");
}

const policies = ["Delete", "Recycle", "Retain"];

function checkInline(errors: FieldErrors, { spec }: Volume): void {
  const detail = "may not be specified in the context of inline volumes";
  if (spec.claimRef) errors.at("claimRef").forbidden(detail);
  if (Object.keys(spec.capacity ?? {}).length > 0) errors.at("capacity").forbidden(detail);
  if (!spec.csi) errors.at("csi").required("has to be specified in the context of inline volumes");
}

function checkCapacity(errors: FieldErrors, { spec }: Volume): void {
  const here = errors.at("capacity");
  const names = Object.keys(spec.capacity ?? {});
  if (names.length === 0) here.required();
  if (names.length !== 1 || names[0] !== "storage") {
    here.notSupported(printedMap(errors, spec, "capacity"), ["storage"]);
  }
  for (const [name, size] of Object.entries(spec.capacity ?? {})) {
    checkBasicQuantity(here.key(name), size);
    if (Quantity.parse(size).sign <= 0) here.key(name).invalid(size, "must be greater than zero");
  }
}

function checkPolicy(errors: FieldErrors, { spec, inline }: Volume): void {
  const policy = spec.persistentVolumeReclaimPolicy;
  if (!policy) return;
  const here = errors.at("persistentVolumeReclaimPolicy");
  if (!inline) {
    if (!policies.includes(policy)) here.notSupported(policy, policies);
  } else if (policy !== "Retain") here.forbidden("may only be Retain in the context of inline volumes");
}

function checkAffinity(errors: FieldErrors, { spec, inline }: Volume): void {
  const here = errors.at("nodeAffinity");
  if (!spec.nodeAffinity) return;
  if (inline) here.forbidden("may not be specified in the context of inline volumes");
  else if (spec.nodeAffinity.required) checkNodeSelector(here.at("required"), spec.nodeAffinity.required);
  else here.at("required").required("must specify required node constraints");
}

function checkSpec(errors: FieldErrors, volume: Volume): void {
  const { spec, inline } = volume;
  if (inline) checkInline(errors, volume);
  if ((spec.accessModes ?? []).length === 0) errors.at("accessModes").required();
  checkAccessModes(errors.at("accessModes"), spec.accessModes);
  if (!inline) checkCapacity(errors, volume);
  checkPolicy(errors, volume);
  checkAffinity(errors, volume);
  checkSource(errors, volume);
  const recycled = spec.persistentVolumeReclaimPolicy === "Recycle";
  if (spec.hostPath && recycled && /^\/\/*$/.test(posix.normalize(spec.hostPath.path || "."))) {
    const detail = "may not be 'recycle' for a hostPath mount of '/'";
    errors.at("persistentVolumeReclaimPolicy").forbidden(detail);
  }
  if (spec.storageClassName) {
    const here = errors.at("storageClassName");
    if (inline) here.forbidden("may not be specified in the context of inline volumes");
    else here.check(dnsSubdomain, spec.storageClassName);
  }
  if (inline && spec.volumeMode && spec.volumeMode !== "Filesystem") {
    errors
      .at("volumeMode")
      .forbidden("may not specify volumeMode other than Filesystem in the context of inline volumes");
  } else checkVolumeMode(errors.at("volumeMode"), spec.volumeMode);
  const attributes = spec.volumeAttributesClassName;
  if (inline || attributes === undefined || attributes === null) return;
  const here = errors.at("volumeAttributesClassName");
  if (attributes === "") here.required("an empty string is disallowed");
  else here.check(dnsSubdomain, attributes);
  if (!spec.csi) errors.at("csi").required("has to be specified when using volumeAttributesClassName");
}

/**
 * The spec of a volume in a VolumeAttachment: one of a CSI driver, and nothing that a claim would be about.
 */
export function checkInlineVolume(errors: FieldErrors, spec: PersistentVolumeSpec): void {
  checkSpec(errors, { spec, name: "", inline: true });
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

function checkUpdate(errors: FieldErrors, volume: PersistentVolume, old: PersistentVolume): void {
  let now = sourceOf(volume.spec);
  const before = sourceOf(old.spec);
  if (before.csi && !before.csi.controllerExpandSecretRef && now.csi?.controllerExpandSecretRef) {
    const { controllerExpandSecretRef: _later, ...csi } = now.csi;
    now = { ...now, csi };
  }
  const form = (source: PersistentVolumeSpec): unknown =>
    internalForm("core/v1.PersistentVolumeSource", source, errors);
  if (!sameValue(form(now), form(before))) {
    const printed = (source: PersistentVolumeSpec): string => goJson(form(source), 1);
    errors
      .at("spec.persistentvolumesource")
      .forbidden(
        `spec.persistentvolumesource is immutable after creation\n${unifiedDiff(printed(before), printed(now))}`,
      );
  }
  checkImmutable(errors.at("volumeMode"), volume.spec?.volumeMode, old.spec?.volumeMode);
  if (old.spec?.nodeAffinity && !sameValue(volume.spec?.nodeAffinity, old.spec.nodeAffinity)) {
    const printed = internalForm("core/v1.VolumeNodeAffinity", volume.spec?.nodeAffinity, errors);
    errors
      .at("nodeAffinity")
      .invalid(printed, "field is immutable, except for updating from beta label to GA");
  }
  if (
    old.spec?.volumeAttributesClassName !== undefined &&
    volume.spec?.volumeAttributesClassName === undefined
  ) {
    errors.at("spec.volumeAttributesClassName").forbidden("update from non-nil value to nil is forbidden");
  }
}

function checkAll(errors: FieldErrors, volume: PersistentVolume): void {
  checkMetadata(errors.at("metadata"), volume.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors.at("metadata"), volume.metadata);
  const { name = "" } = volume.metadata;
  checkSpec(errors.at("spec"), { spec: volume.spec ?? {}, name, inline: false });
}

export const persistentVolumeValidation = {
  create: checkAll,
  update(errors: FieldErrors, volume: PersistentVolume, old: PersistentVolume): void {
    // Upstream looks at an update twice.
    checkAll(errors, volume);
    checkAll(errors, volume);
    checkUpdate(errors, volume, old);
  },
  status(errors: FieldErrors, volume: PersistentVolume, old: PersistentVolume): void {
    checkMetadataUpdate(errors.at("metadata"), volume.metadata, old.metadata);
  },
};
