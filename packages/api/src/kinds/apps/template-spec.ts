import type { PodTemplateSpec } from "../../generated/core/v1.ts";
import type { Wire } from "../../objects/wire.ts";

/**
 * The API's structs always have a spec and a template: an object that was written without them gets their
 * defaults.
 */
export function completed<S extends { template?: Wire<PodTemplateSpec> | null }>(object: {
  spec?: S | null;
}): S {
  const spec = object.spec ?? ({} as S);
  object.spec = spec;
  spec.template ??= { spec: { containers: [] } };
  return spec;
}
