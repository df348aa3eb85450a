import type { Draft } from "@dray/api";
import type { DeviceClass } from "@dray/api/resource/v1";
import type { Value } from "../source/value.ts";

/** `{name, selectors: [CEL]}`, with further fields of DeviceClass.spec. */
export function readClass(value: Value): Draft<DeviceClass> {
  const { name, selectors, config, extendedResourceName } = value.fields([
    "name",
    "selectors",
    "config",
    "extendedResourceName",
  ]);
  const spec: Record<string, unknown> = {
    selectors: selectors.list((one) =>
      typeof one.raw === "string" ? { cel: { expression: one.text() } } : one.object(),
    ),
    ...(config.isSet && { config: config.list((one) => one.object()) }),
    ...(extendedResourceName.isSet && { extendedResourceName: extendedResourceName.text() }),
  };
  return {
    metadata: { name: name.text("the name of a DeviceClass, such as gpu.example.com") },
    spec,
  } as Draft<DeviceClass>;
}

export function classOfObject(value: Value): Draft<DeviceClass> {
  const metadata = value.at("metadata");
  metadata.object();
  const { name, labels } = { name: metadata.at("name").text(), labels: metadata.at("labels") };
  const spec = value.at("spec");
  return {
    metadata: { name, ...(labels.isSet && { labels: labels.map((one) => one.anyText()) }) },
    spec: spec.isSet ? spec.object() : {},
  } as Draft<DeviceClass>;
}

/** The classes of the files; if these have none, one for each driver, under its name. */
export function classes(
  given: readonly Draft<DeviceClass>[],
  drivers: readonly string[],
): Draft<DeviceClass>[] {
  if (given.length > 0) return [...given];
  return drivers.map((name) => ({
    metadata: { name },
    spec: { selectors: [{ cel: { expression: `device.driver == ${JSON.stringify(name)}` } }] },
  }));
}
