import { type AdmissionPluginName, admissionPluginNames, type ServerOptions } from "@dray/apiserver";
import { UsageError } from "../terminal/failure.ts";

const namesOf = (plugins: readonly AdmissionPluginName[]): string[] => plugins.map(({ name }) => name);

const onByDefault = namesOf(admissionPluginNames.filter((plugin) => plugin.default === "on"));
const off = admissionPluginNames.filter((plugin) => plugin.default === "off");
const offByDefault = namesOf(off.filter(({ isMissing }) => !isMissing));
const missing = namesOf(off.filter(({ isMissing }) => isMissing));

/** Returns the names and effects of the plugins that are off by default, for the help. */
export function admissionPluginHelp(): string {
  return off
    .filter(({ isMissing }) => !isMissing)
    .map(({ name, help = "" }) => `${name} ${help}`.trimEnd())
    .join("; ");
}

/**
 * Returns the plugins to disable, and Dray's own ones to enable, from kube-apiserver's flags
 * `--enable-admission-plugins` and `--disable-admission-plugins` (1.36). Accepts all of its names; rejects a
 * plugin in both lists. Also rejects enabling a plugin that is off upstream and that Dray lacks, since its
 * checks would silently be missing.
 */
export function admissionPluginOptions(
  enable: string | undefined,
  disable?: string,
): Required<Pick<ServerOptions, "enabledAdmissionPlugins" | "disabledAdmissionPlugins">> {
  const enabled = parse("--enable-admission-plugins", enable);
  const disabled = parse("--disable-admission-plugins", disable);
  const absent = enabled.find((name) => missing.includes(name));
  if (absent !== undefined) {
    throw new UsageError(
      `--enable-admission-plugins ${absent}: Dray does not have it; it has ${[...onByDefault, ...offByDefault].join(", ")}`,
    );
  }
  const both = enabled.filter((name) => disabled.includes(name));
  if (both.length > 0)
    throw new UsageError(
      `--enable-admission-plugins and --disable-admission-plugins both name ${both.join(", ")}`,
    );
  return {
    enabledAdmissionPlugins: enabled.filter((name) => offByDefault.includes(name)),
    disabledAdmissionPlugins: disabled,
  };
}

function parse(flag: string, value = ""): string[] {
  const listed = value.split(",").filter((name) => name !== "");
  const known = namesOf(admissionPluginNames);
  const unknown = listed.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`${flag} ${unknown}: must be among ${known.sort().join(", ")}`);
  return listed;
}
