import type { CompletedCommand, CompletedOption, Values } from "./tree.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** The completion script of a shell. It holds all fixed words itself, and asks pmctl for what is looked up. */
export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  if (shell === "fish") return fishScript(commands);
  const tables = [verbTable(commands), optionTable(commands), valueTable(commands), argumentTable(commands)].join("\n");
  return shell === "bash" ? `${BASH_HEAD}\n${tables}\n${BASH_TAIL}` : `${ZSH_HEAD}\n${tables}\n${ZSH_TAIL}`;
}

function verbTable(commands: readonly CompletedCommand[]): string {
  const rows = commands
    .filter(({ verbs }) => verbs.length > 0)
    .map(({ path, verbs }) => `    "${path}") echo "${verbs.map(({ name }) => name).join(" ")}" ;;`);
  return shellFunction("verbs", '"$1"', rows, "The words that may follow a command.");
}

function optionTable([program, ...commands]: readonly CompletedCommand[]): string {
  const flagsOf = (options: readonly CompletedOption[]) => options.flatMap(({ flags }) => flags).join(" ");
  const rows = commands
    .filter(({ options }) => options.length > 0)
    .map(({ path, options }) => `    "${path}") echo "${flagsOf(options)}" ;;`);
  const table = shellFunction("options", '"$1"', rows, "A command's options, the global ones last.");
  return table.replace(/\n}\n$/, `\n  echo "${flagsOf(program?.options ?? [])}"\n}\n`);
}

function valueTable([program, ...commands]: readonly CompletedCommand[]): string {
  const rows = commands.flatMap(({ path, options }) =>
    options.flatMap(({ flags, values }) => {
      const at = flags.map((flag) => `"${path} ${flag}"`).join(" | ");
      return values === undefined ? [] : `    ${at}) echo "${answer(values)}" ;;`;
    }),
  );
  const global = (program?.options ?? []).flatMap(({ flags, values }) => {
    const at = flags.map((flag) => `*" ${flag}"`).join(" | ");
    return values === undefined ? [] : `    ${at}) echo "${answer(values)}" ;;`;
  });
  const last = "    *) return 1 ;;";
  const about = "What an option's value may be; fails for an option that takes none.";
  return shellFunction("values", '"$1 $2"', [...rows, ...global, last], about);
}

function argumentTable(commands: readonly CompletedCommand[]): string {
  const rows = commands.flatMap(({ path, arguments: args }) =>
    args.map(({ values, variadic }, index) => `    "${path} "${variadic ? "*" : index}) echo "${answer(values)}" ;;`),
  );
  return shellFunction("arguments", '"$1 $2"', rows, "What the argument at a place, counted from 0, may be.");
}

function answer(values: Values): string {
  if (typeof values === "string") return values;
  return "live" in values ? `live ${values.live}` : `words ${values.join(" ")}`;
}

function shellFunction(name: string, subject: string, rows: readonly string[], about: string): string {
  return `# ${about}\n_pmctl_${name}() {\n  case ${subject} in\n${rows.join("\n")}\n  esac\n}\n`;
}

const BASH_HEAD = "# Completion of pmctl for bash. Load it with: source <(pmctl completion bash)\n";

/** How both shells find out where on the line the cursor stands; \`word\` is each word before it. */
const WALK = `    if [[ -n $option ]]; then
      case $option in
        -C | --directory | -t | --tenant) place+=("$option" "$word") ;;
      esac
      option=
    elif [[ $word == -* ]]; then
      if _pmctl_values "$route" "$word" >/dev/null; then option=$word; fi
    elif [[ " $(_pmctl_verbs "$route") " == *" $word "* ]]; then
      route="\${route:+$route }$word"
    else
      ((position += 1))
    fi`;

const CHOICE = `  if [[ -n $option ]]; then
    kind=$(_pmctl_values "$route" "$option")
  elif [[ $current == -* ]]; then
    kind="words $(_pmctl_options "$route")"
  else
    kind="words $(_pmctl_verbs "$route")"
    if [[ $kind == "words " ]]; then kind=$(_pmctl_arguments "$route" "$position"); fi
  fi`;

const BASH_TAIL = `_pmctl() {
  local words=() last=-1 current= route= option= position=0 place=() word index kind
  for ((index = 0; index <= COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    # bash takes stripe:paid for three words.
    if ((last > 0)) && [[ $word == :* || \${words[last]} == *: ]]; then
      words[last]+=$word
    else
      ((last += 1))
      words[last]=$word
    fi
  done
  current=\${words[last]}
  for ((index = 1; index < last; index++)); do
    word=\${words[index]}
    # bash takes --output=json for three words.
    if [[ $word == "=" ]]; then continue; fi
${WALK}
  done
  if [[ $current == "=" ]]; then current=; fi
${CHOICE}
  COMPREPLY=()
  case $kind in
    live*)
      # Not by compgen, which would run what a value holds.
      while IFS= read -r word; do
        printf -v word %q "$word"
        COMPREPLY+=("$word")
      done < <(pmctl completion values "\${kind#live }" "$current" "\${place[@]}" 2>/dev/null)
      if [[ $kind == "live policy" ]]; then
        compopt -o nospace 2>/dev/null
        COMPREPLY=("\${COMPREPLY[@]/%/=}")
      fi
      ;;
    files)
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -f -- "$current"))
      ;;
    words*) COMPREPLY=($(compgen -W "\${kind#words }" -- "$current")) ;;
  esac
  # What stands before the last colon is not replaced.
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    word=\${current%"\${current##*:}"}
    COMPREPLY=("\${COMPREPLY[@]#"$word"}")
  fi
}

complete -F _pmctl pmctl
`;

const ZSH_HEAD = `#compdef pmctl
# Completion of pmctl for zsh. Load it with: source <(pmctl completion zsh)
# or write it to a file named _pmctl in a folder of your $fpath.
`;

const ZSH_TAIL = `_pmctl() {
  local current="\${words[CURRENT]}" route= option= position=0 word index kind
  local -a place
  for ((index = 2; index < CURRENT; index++)); do
    word="\${words[index]}"
${WALK}
  done
  if [[ $current == --*=* ]]; then
    option="\${current%%=*}"
    compset -P '*='
  fi
${CHOICE}
  case $kind in
    "live policy") compadd -S = -- \${(f)"$(pmctl completion values policy 2>/dev/null)"} ;;
    live*) compadd -- \${(f)"$(pmctl completion values \${kind#live } "$current" $place 2>/dev/null)"} ;;
    files) _files ;;
    words*) compadd -- \${=kind#words } ;;
  esac
}

compdef _pmctl pmctl
`;

function fishScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== "");
  const lines = commands.flatMap(({ path, verbs, options, arguments: args }) => {
    const here = `complete -c pmctl -n ${quote(`__pmctl_at ${quote(path)}`)}`;
    const anywhere = path === "" ? "complete -c pmctl" : here;
    return [
      ...verbs.map(({ name, description }) => `${here} -a ${name} -d ${quote(description)}`),
      ...options.map((option) => `${anywhere} ${fishOption(option)}`),
      ...args.map(({ values }) => `${here} ${fishValues(values)}`).filter((line) => line !== `${here} `),
    ];
  });
  return `${FISH_HEAD}\nset -g __pmctl_commands ${paths.map(quote).join(" ")}\n${FISH_FUNCTIONS}\n${lines.join("\n")}\n`;
}

function fishOption({ flags, description, values }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const value = values === undefined ? "" : ` -r ${fishValues(values)}`;
  return `${names.join(" ")} -d ${quote(description)}${value}`.trimEnd();
}

function fishValues(values: Values): string {
  if (values === "nothing") return "";
  if (values === "files") return "-F";
  return `-a ${quote("live" in values ? `(__pmctl_values ${values.live})` : values.join(" "))}`;
}

/** In single quotes fish knows two escapes. */
function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

const FISH_HEAD = `# Completion of pmctl for fish. Load it with: pmctl completion fish | source
complete -c pmctl -f`;

const FISH_FUNCTIONS = `
function __pmctl_path
    set -l path
    for word in (commandline -opc)[2..-1]
        set -l longer (string trim "$path $word")
        if contains -- $longer $__pmctl_commands
            set path $longer
        end
    end
    echo "$path"
end

function __pmctl_at
    test (__pmctl_path) = "$argv[1]"
end

function __pmctl_values
    set -l place
    set -l words (commandline -opc)
    for index in (seq 2 (count $words))
        if contains -- $words[$index] -C --directory -t --tenant
            set -a place $words[$index] $words[(math $index + 1)]
        end
    end
    pmctl completion values $argv[1] (commandline -ct) $place 2>/dev/null
end
`;
