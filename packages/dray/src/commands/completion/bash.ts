import { allCommands, type CompletedCommand, type Values } from "./model.ts";

/** A completion for bash 3.2 and newer, without the package bash-completion. */
export function bashCompletion(root: CompletedCommand): string {
  const commands = allCommands(root);
  const subcommands = commands.filter(({ path }) => path.length > 1);
  const valued = commands.flatMap(({ path, options }) =>
    options.flatMap(({ names, values }) =>
      values === undefined ? [] : names.map((name) => ({ key: `${path.join(" ")} ${name}`, values })),
    ),
  );
  const byValues = Map.groupBy(valued, ({ values }) => shellOf(values));
  return `# bash completion of dray: source <(dray completion bash)

# Whether the option $2 of the command $1 takes a value, which \`candidates\` then says.
__dray_option() {
  case "$1 $2" in
${[...byValues].map(([shell, all]) => `    ${all.map(({ key }) => quote(key)).join("|")})\n      candidates=${quote(shell)} ;;`).join("\n")}
    *) return 1 ;;
  esac
}

__dray_clusters() {
  command ls "\${XDG_DATA_HOME:-$HOME/.local/share}/dray" 2>/dev/null
}

_dray() {
  local current=\${COMP_WORDS[COMP_CWORD]} path=dray candidates= position=0 literal= waiting= i word
  COMPREPLY=()
  # bash makes words of its own at "=": --output=json are three.
  [ "$current" = "=" ] && current=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [ "$word" = "=" ]; then continue; fi
    if [ -n "$waiting" ]; then waiting=; continue; fi
    case "$literal$word" in
      --) literal=1 ;;
      -*) __dray_option "$path" "$word" && waiting=1 ;;
      *)
        case "$path $word" in
          ${subcommands.map(({ path }) => quote(path.join(" "))).join("|")}) path="$path $word" ;;
          *) position=$((position + 1)) ;;
        esac ;;
    esac
  done
  if [ -z "$waiting" ]; then
    candidates=
    if [ -z "$literal" ] && [ "\${current#-}" != "$current" ]; then
      case "$path" in
${commands.map(({ path, options }) => `        ${quote(path.join(" "))}) candidates=${quote(`words ${options.flatMap(({ names }) => names).join(" ")}`)} ;;`).join("\n")}
      esac
    else
      case "$path $position" in
${commands.flatMap(positionCases).join("\n")}
      esac
    fi
  fi
  case "$candidates" in
    files) return ;;
    folders)
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$current")
      return ;;
    clusters) candidates="words $(__dray_clusters)" ;;
  esac
  # Where words are wanted, names of files are not.
  compopt +o default 2>/dev/null
  case "$candidates" in
    words*) while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "\${candidates#words}" -- "$current") ;;
  esac
}

complete -o default -F _dray dray
`;
}

function positionCases({ path, commands, arguments: args, variadic }: CompletedCommand): string[] {
  const key = path.join(" ");
  if (commands.length > 0)
    return [
      `        ${quote(`${key} 0`)}) candidates=${quote(`words ${commands.map((child) => child.path.at(-1)).join(" ")}`)} ;;`,
    ];
  return args.map((values, i) => {
    const pattern = variadic && i === args.length - 1 ? `${quote(`${key} `)}*` : quote(`${key} ${i}`);
    return `        ${pattern}) candidates=${quote(shellOf(values))} ;;`;
  });
}

/** Encodes the candidates for the script. */
function shellOf(values: Values): string {
  return values.kind === "words" ? `words ${values.words.join(" ")}` : values.kind;
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
