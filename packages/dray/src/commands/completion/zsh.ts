import { allCommands, type CompletedCommand, type CompletedOption, summary, type Values } from "./model.ts";

/** A completion for zsh, as a file \`_dray\` of its function path or to be sourced. */
export function zshCompletion(root: CompletedCommand): string {
  return `#compdef dray
# zsh completion of dray: dray completion zsh > "\${fpath[1]}/_dray"

__dray_clusters() {
  local -a clusters
  clusters=(\${XDG_DATA_HOME:-$HOME/.local/share}/dray/*(N/:t))
  compadd -a clusters
}

${allCommands(root).map(functionOf).join("\n")}
if [ "$funcstack[1]" = "_dray" ]; then
  _dray "$@"
else
  compdef _dray dray
fi
`;
}

function functionOf({ path, commands, options, arguments: args, variadic }: CompletedCommand): string {
  const specs = options.map(optionSpec);
  const name = functionName(path);
  if (commands.length === 0) {
    const positions = args.map((values, i) => {
      const last = variadic && i === args.length - 1;
      return quote(`${last ? "*" : i + 1}:${path.at(-1)}:${actionOf(values)}`);
    });
    return `${name}() {
  _arguments -s -S \\
    ${[...specs, ...positions].join(" \\\n    ")}
}
`;
  }
  const list = commands.map(({ name, description }) =>
    quote(`${escapeColons(name)}:${summary(description)}`),
  );
  const cases = commands.map(({ name, path: own }) => `        ${name}) ${functionName(own)} ;;`);
  return `${name}() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -s -S -C \\
    ${specs.join(" \\\n    ")} \\
    '1: :->command' '*:: :->rest'
  case $state in
    command)
      local -a commands
      commands=(
        ${list.join("\n        ")}
      )
      _describe -t commands '${path.join(" ")} command' commands ;;
    rest)
      case $words[1] in
${cases.join("\n")}
      esac ;;
  esac
}
`;
}

const functionName = (path: readonly string[]): string => `_${path.join("_").replaceAll("-", "_")}`;

/** \`'(-o --output)'{-o,--output}'[output format]:value:(json yaml)'\` */
function optionSpec({ names, description, values, repeatable }: CompletedOption): string {
  const text = `[${summary(description).replace(/[\\\]]/g, "\\$&")}]${values === undefined ? "" : `:value:${actionOf(values)}`}`;
  const before = repeatable ? "'*'" : names.length > 1 ? quote(`(${names.join(" ")})`) : "";
  return `${before}${names.length > 1 ? `{${names.join(",")}}` : names[0]}${quote(text)}`;
}

function actionOf(values: Values): string {
  if (values.kind === "words") return `(${values.words.map(escapeColons).join(" ")})`;
  return { files: "_files", folders: "_files -/", clusters: "__dray_clusters", any: " " }[values.kind];
}

const escapeColons = (text: string): string => text.replaceAll(":", "\\:");
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
