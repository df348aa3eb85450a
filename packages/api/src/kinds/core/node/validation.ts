import { checkLegacyNetwork, networkFamily } from "../../../checks/address.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import { type FieldErrors, seenBefore } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkLabels } from "../../../checks/metadata.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { KubernetesVersion } from "../../../features/features.ts";
import type { Node } from "../../../generated/core/v1.ts";
import { quoted } from "../../../text/quoted.ts";
import { byteLength, dnsSubdomain } from "../../../values/names.ts";
import { Quantity } from "../../../values/quantity.ts";
import { checkQuantity } from "../pod/resources.ts";

const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function checkTaints(errors: FieldErrors, { spec }: Node): void {
  const seen = new Set<string>();
  (spec?.taints ?? []).forEach((taint, index) => {
    const { key = "", value, effect = "" } = taint;
    // Upstream has these paths in metadata.
    const here = errors.at("metadata.taints").index(index);
    checkLabels(here.at("key"), { [key]: "" });
    if (value) checkLabels(here.at("value"), { value });
    if (effect === "") here.at("effect").required();
    else if (!taintEffects.includes(effect)) here.at("effect").notSupported(effect, taintEffects);
    const pair = `${key}:${effect}`;
    if (seen.has(pair)) {
      const detail = "taints must be unique by key and effect pair";
      here.duplicate(internalForm("core/v1.Taint", taint, errors), detail);
    }
    seen.add(pair);
  });
}

const featureForm = /^([A-Z][a-zA-Z0-9]*)(\/[a-zA-Z][a-zA-Z0-9]*)*$/;

/** Features that a node declares (KEP-5328): names in order, none twice. */
function checkDeclaredFeatures(errors: FieldErrors, { status }: Node): void {
  const list = status?.declaredFeatures ?? [];
  list.forEach((name, index) => {
    const features = errors.at("status.declaredFeatures");
    const what = `invalid feature name ${quoted(name)}`;
    if (byteLength(name) > 253)
      features.index(index).invalid(name, `${what}: must be no more than 253 characters`);
    else if (!featureForm.test(name)) {
      features
        .index(index)
        .invalid(
          name,
          `${what}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
        );
    }
    const next = list[index + 1];
    if (next === undefined) return;
    if (next === name) features.index(index + 1).duplicate(next);
    else if (name > next) features.index(index + 1).invalid(next, "list must be sorted alphabetically");
  });
}

/** Upstream's paths have a dot before the names of resources. */
function checkNodeResources(errors: FieldErrors, { status }: Node): void {
  for (const field of ["capacity", "allocatable"] as const) {
    for (const [name, quantity] of Object.entries(status?.[field] ?? {}))
      checkQuantity(errors.at("status").at(field).at(name), name, Quantity.parse(quantity));
  }
}

/** Networks of a node's pods: one of each family. */
function checkPodNetworks(errors: FieldErrors, { spec }: Node, version: KubernetesVersion): void {
  const networks = spec?.podCIDRs ?? [];
  networks.forEach((network, index) => {
    checkLegacyNetwork(errors.at("spec.podCIDRs").index(index), network, { version });
  });
  if (networks.length < 2) return;
  const wrong = networks.findIndex((network) => networkFamily(network) === undefined);
  if (wrong >= 0) {
    const why = `invalid CIDR[${wrong}]: <nil> (invalid CIDR address: ${networks[wrong]})`;
    errors
      .at("spec.podCIDRs")
      .internal(`invalid PodCIDRs. failed to check with dual stack with error:${why}`);
  }
  const families = new Set(networks.map(networkFamily));
  if (wrong >= 0 || networks.length > 2 || families.size < 2) {
    errors.at("spec.podCIDRs").invalid(networks, "may specify no more than one CIDR for each IP family");
  }
}

export const nodeValidation = {
  create(errors: FieldErrors, object: Node, context: ValidationContext): void {
    checkObject(errors, object, dnsSubdomain, false);
    checkTaints(errors, object);
    checkNodeResources(errors, object);
    checkDeclaredFeatures(errors, object);
    checkPodNetworks(errors, object, context.features.version);
  },
  update(errors: FieldErrors, object: Node, old: Node, context: ValidationContext): void {
    this.create(errors, object, context);
    this.status(errors, object, old);
  },
  status(errors: FieldErrors, object: Node, old: Node): void {
    checkObjectUpdate(errors, object, old);
    checkNodeResources(errors, object);
    checkDeclaredFeatures(errors, object);
    const addresses = object.status?.addresses ?? [];
    const repeated = seenBefore();
    addresses.forEach(({ type, address }, index) => {
      if (repeated(JSON.stringify([type, address])))
        errors.at("status.addresses").index(index).duplicate({ Type: type, Address: address });
    });
    const [networks, before] = [object.spec?.podCIDRs ?? [], old.spec?.podCIDRs ?? []];
    const changed = before.filter((network, index) => network !== networks[index]).length;
    const count = networks.length === before.length ? changed : before.length === 0 ? 0 : 1;
    for (let each = 0; each < count; each++) {
      errors.at("spec.podCIDRs").forbidden('node updates may not change podCIDR except from "" to valid');
    }
    if (old.spec?.providerID && object.spec?.providerID !== old.spec.providerID) {
      errors
        .at("spec.providerID")
        .forbidden('node updates may not change providerID except from "" to valid');
    }
    checkTaints(errors, object);
    if ((object.spec?.externalID ?? "") !== (old.spec?.externalID ?? ""))
      errors.at("spec.externalID").forbidden("may not be updated");
  },
};
