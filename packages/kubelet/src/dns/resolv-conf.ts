/** Entries of a resolv.conf(5). */
export interface ResolvConf {
  /** Addresses. */
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  /** `name` or `name:value`. */
  readonly options: readonly string[];
}

/** Parses a resolv.conf(5). The last `search` line counts, and the last value of each option. */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = [];
  let searches: string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [keyword = "", ...values] = line.trim().split(/\s+/);
    if (keyword === "nameserver" && values[0] !== undefined) servers.push(values[0]);
    else if (keyword === "search")
      searches = values.filter((value) => value !== ".").map((value) => value.replace(/\.$/, ""));
    else if (keyword === "options") for (const value of values) setOption(options, value);
  }
  return { servers, searches, options: [...options.values()] };
}

/** Sets an option such as `ndots:5` by its name. */
export function setOption(options: Map<string, string>, option: string): void {
  options.set(option.split(":")[0] ?? option, option);
}

/** Formats a resolv.conf(5). */
export function formatResolvConf({ servers, searches, options }: ResolvConf): string {
  return [
    ...(searches.length > 0 ? [`search ${searches.join(" ")}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(" ")}`] : []),
    "",
  ].join("\n");
}
