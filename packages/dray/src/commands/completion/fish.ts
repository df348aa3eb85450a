import { allCommands, type CompletedCommand, type CompletedOption, summary, type Values } from "./model.ts";

/** A completion for fish. */
export function fishCompletion(root: CompletedCommand): string {
  const commands = allCommands(root);
  const valued = commands.flatMap(({ path, options }) =>
    options
      .filter(({ values }) => values !== undefined)
      .flatMap(({ names }) => names.map((name) => `${path.join(" ")} ${name}`)),
  );
  const below = commands.filter(({ path }) => path.length > 1).map(({ path }) => path.join(" "));
  return `# fish completion of dray: dray completion fish > ~/.config/fish/completions/dray.fish

# Prints the command that the line has so far, and how many arguments it has: "dray cel check 0".
function __dray_line
    set -l path dray
    set -l count 0
    set -l waiting 0
    for word in (commandline -opc)[2..-1]
        if test $waiting = 1
            set waiting 0
        else if string match -q -- '-*' $word
            if contains -- "$path $word" ${valued.map(quote).join(" ")}
                set waiting 1
            end
        else if contains -- "$path $word" ${below.map(quote).join(" ")}
            set path "$path $word"
        else
            set count (math $count + 1)
        end
    end
    echo "$path $count"
end

function __dray_in
    string match -q -- "$argv[1] *" (__dray_line)
    and string match -qr -- '^\\d+$' (string replace -- "$argv[1] " '' (__dray_line))
end

function __dray_at
    test (__dray_line) = "$argv[1]"
end

function __dray_clusters
    set -l home $XDG_DATA_HOME
    test -n "$home"; or set home ~/.local/share
    command ls $home/dray 2>/dev/null
end

complete -c dray -f
${commands.flatMap(linesOf).join("\n")}
`;
}

function linesOf({ path, commands, options, arguments: args, variadic }: CompletedCommand): string[] {
  const key = path.join(" ");
  const children = commands.map(
    ({ path: own, description }) =>
      `complete -c dray -n ${quote(`__dray_at '${key} 0'`)} -a ${own.at(-1)} -d ${quote(summary(description))}`,
  );
  const positions = args.flatMap((values, i) => {
    const condition = variadic && i === args.length - 1 ? `__dray_in '${key}'` : `__dray_at '${key} ${i}'`;
    const list = valuesOf(values);
    return list === "" ? [] : [`complete -c dray -n ${quote(condition)} ${list}`];
  });
  return [...children, ...positions, ...options.map((option) => optionLine(key, option))];
}

function optionLine(key: string, { names, description, values }: CompletedOption): string {
  const flags = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const value = values === undefined ? "" : ` -r ${valuesOf(values) || "-f"}`;
  return `complete -c dray -n ${quote(`__dray_in '${key}'`)} ${flags.join(" ")}${value} -d ${quote(summary(description))}`;
}

/** -f: no files, -F: files. */
function valuesOf(values: Values): string {
  if (values.kind === "words") return `-f -a ${quote(values.words.join(" "))}`;
  return {
    files: "-F",
    folders: "-f -a '(__fish_complete_directories)'",
    clusters: "-f -a '(__dray_clusters)'",
    any: "",
  }[values.kind];
}

const quote = (text: string): string => `'${text.replace(/['\\]/g, "\\$&")}'`;
