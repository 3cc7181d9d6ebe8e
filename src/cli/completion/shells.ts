import type { Argument, Command, Option } from "commander";
import type { ValueKind } from "./values.ts";

/** The words that fit at a place of the line: fixed words, or values that the shell looks up. */
type Values = readonly string[] | { live: ValueKind } | "files" | "nothing";

interface CompletedOption {
  /** The long flag first. */
  flags: string[];
  description: string;
  /** Undefined for an option that takes no value. */
  values: Values | undefined;
}

interface CompletedCommand {
  /** The words that lead to it, such as `market settle`; empty for the program itself. */
  path: string;
  verbs: { name: string; description: string }[];
  /** Those of the program itself are the global options. */
  options: CompletedOption[];
  arguments: { values: Values; variadic: boolean }[];
}

const HELP: CompletedOption = { flags: ["--help", "-h"], description: "show help", values: undefined };

/** The program and every command below it, as a flat list. */
export function completedCommands(command: Command, path = ""): CompletedCommand[] {
  const named = command.commands.flatMap((verb) => [verb.name(), ...verb.aliases()].map((name) => ({ verb, name })));
  const verbs = named.map(({ verb, name }) => ({ name, description: verb.description() }));
  const options = command.options.map((option) => completedOption(option, path));
  return [
    {
      path,
      verbs,
      options: path === "" ? [...options, HELP] : options,
      arguments: command.registeredArguments.map((argument) => ({
        values: valuesOf(argument, argument.name(), path),
        variadic: argument.variadic,
      })),
    },
    ...named.flatMap(({ verb, name }) => completedCommands(verb, `${path} ${name}`.trim())),
  ];
}

function completedOption(option: Option, path: string): CompletedOption {
  const { short, long, description, required, optional } = option;
  const flags = [long, short].filter((flag) => typeof flag === "string");
  return { flags, description, values: required || optional ? valuesOf(option, option.name(), path) : undefined };
}

/** Files and directories have the same option names in every command. Values such as an amount are not completed. */
function valuesOf({ argChoices }: Pick<Option | Argument, "argChoices">, name: string, path: string): Values {
  if (argChoices) return argChoices;
  const live = LIVE.find(([at]) => at.test(`${path} ${name}`));
  if (live) return { live: live[1] };
  return /^(file|out|body|dir|directory)$/.test(name) ? "files" : "nothing";
}

/** Looked-up values, by a command's path and the name of its option or argument. */
const LIVE: readonly (readonly [RegExp, ValueKind])[] = [
  [/ tenants?$/, "tenants"],
  [/^market .*\bid$|^(?!market create).* market$/, "markets"],
  [/^user .*\b(id|user)$| user$/, "users"],
  [/^key \w+ name$|^ key$/, "keys"],
  [/^policy set key=value$/, "policy"],
  [/^webhook send event$/, "events"],
  [/^explain name$/, "names"],
];

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** The completion script of a shell. It contains all fixed words, and asks pmctl for values that it looks up. */
export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  if (shell === "fish") return fishScript(commands);
  const rows = tableRows(commands).map(([patterns, answer]) => `    ${patterns.join(" | ")}) echo "${answer}" ;;`);
  const table = `_pmctl_table() {\n  case "$*" in\n${rows.join("\n")}\n    *) return 1 ;;\n  esac\n}\n`;
  const about = "# The words that fit at a place of a line: the verbs and options of a command, or values by kind.";
  const [head, tail] = shell === "bash" ? [BASH_HEAD, BASH_TAIL] : [ZSH_HEAD, ZSH_TAIL];
  return [head, about, table, tail].join("\n");
}

/**
 * Rows such as `verbs market`, `options market list`, `value market list --status` and `argument market show 0`. A
 * command's own option comes before a global option of the same name.
 */
function tableRows(commands: readonly CompletedCommand[]): [patterns: string[], answer: string][] {
  const ofOptions = (options: readonly CompletedOption[], placed: (flag: string) => string) =>
    options.flatMap(({ flags, values }): [string[], string][] =>
      values === undefined ? [] : [[flags.map(placed), answer(values)]],
    );
  const rows = commands.flatMap(({ path, verbs, options, arguments: args }): [string[], string][] => [
    [[`"verbs ${path}"`], verbs.map(({ name }) => name).join(" ")],
    [[`"options ${path}"`], options.flatMap(({ flags }) => flags).join(" ")],
    ...(path === "" ? [] : ofOptions(options, (flag) => `"value ${path} ${flag}"`)),
    ...args.map(({ values, variadic }, index): [string[], string] => [
      [`"argument ${path} "${variadic ? "*" : index}`],
      answer(values),
    ]),
  ]);
  const isFilled = ([, text]: [string[], string]) => text !== "";
  return [...rows.filter(isFilled), ...ofOptions(commands[0]?.options ?? [], (flag) => `"value "*" ${flag}"`)];
}

function answer(values: Values): string {
  if (typeof values === "string") return values;
  return "live" in values ? `live ${values.live}` : `words ${values.join(" ")}`;
}

const BASH_HEAD = "# Completion of pmctl for bash. Load it with: source <(pmctl completion bash)\n";

/** How both shells find the cursor's place on the line; \`word\` is each word before it. */
const WALK = `    if [[ -n $option ]]; then
      case $option in
        -C | --directory | -t | --tenant) place+=("$option" "$word") ;;
      esac
      option=
    elif [[ $word == -* ]]; then
      if _pmctl_table value "$route" "$word" >/dev/null; then option=$word; fi
    elif [[ " $(_pmctl_table verbs "$route") " == *" $word "* ]]; then
      route="\${route:+$route }$word"
    else
      ((position += 1))
    fi`;

const CHOICE = `  if [[ -n $option ]]; then
    kind=$(_pmctl_table value "$route" "$option")
  elif [[ $current == -* ]]; then
    kind="words $(_pmctl_table options "$route") $(_pmctl_table options "")"
  else
    kind="words $(_pmctl_table verbs "$route")"
    if [[ $kind == "words " ]]; then kind=$(_pmctl_table argument "$route" "$position"); fi
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

/** fish knows two escapes within single quotes. */
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
