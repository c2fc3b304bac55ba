-- Slurm cli_filter plugin: tells at sbatch when the job would start, by the forecast of a waitcast daemon.
--
-- Install it as cli_filter.lua beside slurm.conf on the machines where people submit, with "CliFilterPlugins=lua" in slurm.conf; a site
-- that has a cli_filter.lua of its own calls waitcast_forecast from there. See docs/integrations.md.
--
-- It never changes a submission, never fails one, and holds none up for longer than settings.seconds and the start of three processes:
-- whatever has not been answered by then is left unsaid. It needs curl, or the command waitcast, and coreutils' timeout.
--
-- Environment of whoever submits:
--   WAITCAST_CLI_FILTER  off; on; tty (the default): only where standard error is a terminal, so that scripts read what they always have
--   WAITCAST_URL         address of the daemon, in place of settings.url
--   WAITCAST_TOKEN       a token for it, where it asks for one (docs/security.md)
--
-- For Lua 5.1 to 5.4, whichever Slurm was built with.

local settings = {
  url = "http://127.0.0.1:9817", -- everybody can read this file: a password does not belong here
  cluster = nil,                 -- its name in the daemon, where that watches several
  seconds = 0.1,                 -- for the daemon's answer
  commands = { sbatch = true },  -- salloc = true and srun = true for these too
}

local hour, day = 3600, 86400
-- Shorter time limits that are asked about too.
local ladder = { 600, 1800, hour, 2 * hour, 4 * hour, 8 * hour, 12 * hour, day, 2 * day, 3 * day, 7 * day }
local most_shorter = 5
-- A shorter limit is worth a word from this many seconds sooner on, and half the wait.
local least_gain = 300

-- JSON -----------------------------------------------------------------------------------------------------------------------------

local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function decode_string(text, at) -- at is behind the quote
  local parts = {}
  while true do
    local stop = assert(text:find('["\\]', at), "JSON: a string without its end")
    parts[#parts + 1] = text:sub(at, stop - 1)
    if text:sub(stop, stop) == '"' then return table.concat(parts), stop + 1 end
    local letter = text:sub(stop + 1, stop + 1)
    at = stop + 2
    if letter == "u" then
      local code = assert(tonumber(text:sub(at, at + 3), 16), "JSON: a bad escape")
      parts[#parts + 1] = code < 128 and string.char(code) or "?"
      at = at + 4
    else
      parts[#parts + 1] = escapes[letter] or letter
    end
  end
end

local decode_value

local function decode_members(text, at, close, depth)
  local out = {}
  at = text:match("^%s*()", at)
  if text:sub(at, at) == close then return out, at + 1 end
  while true do
    local key, value = #out + 1, nil
    if close == "}" then
      key, at = decode_string(text, assert(text:match('^%s*"()', at), "JSON: no key"))
      at = assert(text:match("^%s*:()", at), "JSON: no colon")
    end
    value, at = decode_value(text, at, depth)
    out[key] = value
    local mark
    mark, at = text:match("^%s*([,%]}])()", at)
    if mark == close then return out, at end
    assert(mark == ",", "JSON: no comma")
  end
end

-- decode_value reads a value; null is nil.
decode_value = function(text, at, depth)
  assert(depth < 50, "JSON: too deep")
  at = text:match("^%s*()", at)
  local first = text:sub(at, at)
  if first == "{" then return decode_members(text, at + 1, "}", depth + 1) end
  if first == "[" then return decode_members(text, at + 1, "]", depth + 1) end
  if first == '"' then return decode_string(text, at + 1) end
  local word, behind = text:match("^([%w%.%+%-]+)()", at)
  if word == "true" then return true, behind end
  if word == "false" then return false, behind end
  if word == "null" then return nil, behind end
  return assert(tonumber(word or ""), "JSON: no value"), behind
end

local function decode(text) return (decode_value(text, 1, 0)) end

local function encode(value)
  if type(value) == "number" then return string.format("%.0f", value) end
  if type(value) == "string" then
    return '"' .. value:gsub('[%c"\\]', function(c) return string.format("\\u%04x", c:byte()) end) .. '"'
  end
  local parts = {}
  if value[1] ~= nil then
    for _, item in ipairs(value) do parts[#parts + 1] = encode(item) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for key, item in pairs(value) do parts[#parts + 1] = encode(key) .. ":" .. encode(item) end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- What is asked for ----------------------------------------------------------------------------------------------------------------

-- seconds_of reads a time as Slurm's options return it: [days-]hours:minutes:seconds. UNLIMITED is nil.
local function seconds_of(text)
  local days, h, m, s = (text or ""):match("^(%d*)%-?(%d+):(%d+):(%d+)$")
  if not h then return nil end
  if not text:find("-", 1, true) then days, h = "0", days .. h end
  return tonumber(days) * day + tonumber(h) * hour + tonumber(m) * 60 + tonumber(s)
end

-- conf_seconds reads a time as slurm.conf has it: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]].
local function conf_seconds(text)
  local days, rest = text:match("^(%d+)%-(.*)$")
  local parts = {}
  for n in (rest or text):gmatch("%d+") do parts[#parts + 1] = tonumber(n) end
  if #parts == 0 then return nil end -- UNLIMITED, NONE
  if days then return tonumber(days) * day + parts[1] * hour + (parts[2] or 0) * 60 + (parts[3] or 0) end
  if #parts == 3 then return parts[1] * hour + parts[2] * 60 + parts[3] end
  return parts[1] * 60 + (parts[2] or 0)
end

-- default_partition looks it up in slurm.conf: its name, and the time limits of all partitions that have a default one. Slurm's clients
-- do not know it before they ask the controller. Included files are not read.
local function default_partition()
  local name, times = nil, {}
  for _, path in ipairs({ os.getenv("SLURM_CONF") or "/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf" }) do
    local file = io.open(path)
    if file then
      for line in file:lines() do
        local partition = line:match("^%s*[Pp]artition[Nn]ame=(%S+)")
        local low = partition and line:lower()
        if low then
          if low:find("%sdefault=yes") then name = partition end
          times[partition] = conf_seconds(low:match("%sdefaulttime=(%S+)") or low:match("%smaxtime=(%S+)") or "")
        end
      end
      file:close()
      return name, times
    end
  end
  return nil, times
end

-- total adds up counts such as a100:2,b or gpu:2; of a list of generic resources those of one name only.
local function total(text, name)
  local sum = 0
  for item in (text or ""):gmatch("[^,]+") do
    item = item:gsub("^gres:", "")
    if not name or item == name or item:find("^" .. name .. ":") then sum = sum + tonumber(item:match("(%d+)$") or 1) end
  end
  return sum
end

local function megabytes(text)
  local n, unit = (text or ""):upper():match("^(%d+)([KMGT]?)B?$")
  if not n then return 0 end
  return math.ceil(tonumber(n) * ({ K = 1 / 1024, M = 1, [""] = 1, G = 1024, T = 1024 * 1024 })[unit])
end

-- question makes the body of POST /v1/wait, and returns it with the time limit in seconds, if there is one. set are the options that are set.
local function question(set)
  local default, times = default_partition()
  local partitions = set.partition or default
  local nodes = tonumber((set.nodes or ""):match("^%d+")) or 0
  local tasks = tonumber(set.ntasks) or math.max(1, nodes) * math.max(1, tonumber(set["ntasks-per-node"]) or 1)
  local procs = tasks * math.max(1, tonumber(set["cpus-per-task"]) or 1)
  local body = { procs = { procs }, account = set.account, qos = set.qos }
  body.places = { { queue = partitions, cluster = set.clusters or settings.cluster } } -- several partitions are one job
  if next(body.places[1]) == nil then body.places = nil end
  if nodes > 0 then body.nodes = nodes end
  local gpus = total(set.gpus) + math.max(1, nodes) * (total(set["gpus-per-node"]) + total(set.gres, "gpu")) + tasks * total(set["gpus-per-task"])
  if gpus > 0 then body.gpus = gpus end
  local memory = math.max(1, nodes) * megabytes(set.mem) + procs * megabytes(set["mem-per-cpu"])
  if memory > 0 then body.memory = string.format("%.0fM", memory) end
  if not set.uid then body.user = os.getenv("USER") end
  local limit = set.time and seconds_of(set.time)
  if not set.time and partitions then limit = times[partitions:match("^[^,]+")] end
  if limit and limit > 0 then
    body.time_limits = { string.format("%.0f", limit) }
    for i = #ladder, 1, -1 do
      if ladder[i] < limit and #body.time_limits <= most_shorter then body.time_limits[#body.time_limits + 1] = string.format("%.0f", ladder[i]) end
    end
  end
  return body, limit
end

-- The daemon -----------------------------------------------------------------------------------------------------------------------

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- by_curl is a command of the shell. The address may have a password, and there may be a token: they come from the environment into curl's standard input, and are no arguments.
local function by_curl(body)
  return [[{ printf 'url = "%s/v1/wait"\n' "${WAITCAST_URL%/}"; [ -z "$WAITCAST_TOKEN" ] || printf 'header = "Authorization: Bearer %s"\n' "$WAITCAST_TOKEN"; } | timeout -s KILL ]] .. settings.seconds .. " curl -q -K - -s --max-time " .. settings.seconds
    .. [[ --noproxy '*' -H 'Content-Type: application/json' -H 'Accept: application/json, application/problem+json' --data-binary ]] .. quote(encode(body))
end

-- by_waitcast is the same for machines without curl.
local function by_waitcast(body)
  if not body.places or not body.places[1].queue or not body.time_limits then return "exit 0" end
  local queues = {}
  for i, place in ipairs(body.places) do queues[i] = place.queue end
  local words = { "timeout -s KILL " .. settings.seconds .. " waitcast wait --json" }
  local function say(flag, value) if value then words[#words + 1] = quote("--" .. flag .. "=" .. value) end end
  say("queue", table.concat(queues, ","))
  say("cluster", body.places[1].cluster)
  say("procs", string.format("%.0f", body.procs[1]))
  say("time", table.concat(body.time_limits, "s,") .. "s")
  say("nodes", body.nodes and string.format("%.0f", body.nodes))
  say("gpus", body.gpus and string.format("%.0f", body.gpus))
  say("mem", body.memory)
  for _, name in ipairs({ "user", "account", "qos" }) do say(name, body[name]) end
  return table.concat(words, " ")
end

-- ask returns the daemon's answer, or nil. Only what the shell may read without harm is put into its command, the rest in quotes.
local function ask(body, mode)
  local url = os.getenv("WAITCAST_URL")
  if not url or url == "" then url = nil end
  if (url or settings.url):find("[^%w%-%._~:/%[%]@%%!$&()*+,;=]") then return nil end -- no address, and curl would read it as more than one
  local command = (mode == "tty" and "[ -t 2 ] || exit 0; " or "") .. "exec 2>/dev/null; "
    .. (url and "" or "WAITCAST_URL=" .. quote(settings.url) .. "; ") .. "export WAITCAST_URL; "
    .. "if command -v curl >/dev/null; then " .. by_curl(body) .. "; else " .. by_waitcast(body) .. "; fi"
  local pipe = io.popen(command)
  if not pipe then return nil end
  local text = pipe:read(262144)
  pipe:close()
  if not text or not text:find("^%s*{") then return nil end
  return decode(text)
end

-- The answer in words --------------------------------------------------------------------------------------------------------------

local function words(seconds)
  local minutes = math.floor(seconds / 60 + .5)
  if minutes < 60 then return string.format("%.0f min", math.max(1, minutes)) end
  local hours = math.floor(minutes / 60)
  if hours < 24 then
    return minutes % 60 == 0 and string.format("%.0f h", hours) or string.format("%.0f h %02.0f min", hours, minutes % 60)
  end
  return hours % 24 == 0 and string.format("%.0f d", hours / 24) or string.format("%.0f d %02.0f h", math.floor(hours / 24), hours % 24)
end

local function start(seconds) return seconds < 60 and "at once" or "in " .. words(seconds) end

-- shorter returns what is gained by the longest of the shorter limits that gains much, or "".
local function shorter(candidates, asked, limit)
  local best
  for _, c in ipairs(candidates) do
    local median, of = c.wait_seconds.p50, c.time_limit_seconds or limit
    local enough = median and (not asked.wait_seconds.p50 or asked.wait_seconds.p50 - median >= math.max(least_gain, asked.wait_seconds.p50 / 2))
    if of < limit - 1 and enough and (not best or of > best.time_limit_seconds) then best = c end
  end
  if not best then return "" end
  return "; with a time limit of " .. words(best.time_limit_seconds) .. " instead of " .. words(limit) .. ": " .. start(best.wait_seconds.p50)
end

-- hopeless tells of a job that can never start. The detail may tell of another one of the time limits.
local function hopeless(what, why, limit)
  local asked, allowed = why.detail:match("^(.-) asked for, (.*)$")
  if limit and allowed and why.reason == "over_queue_limit" and asked:find("time limit") then
    return what .. " would not start with a time limit of " .. words(limit) .. ": " .. allowed
  end
  return what .. " would not start: " .. why.detail
end

-- sentence returns what to say of an answer, or nil.
local function sentence(answer, limit, what)
  local candidates = answer.candidates or (answer.wait_seconds and { answer }) -- of one time limit waitcast tells the answer itself
  if not candidates then
    return answer.type == "urn:waitcast:problem:no-forecast" and answer.status == 422 and hopeless(what, answer, limit) or nil
  end
  local asked
  for _, c in ipairs(candidates) do
    if not asked and (not limit or math.abs((c.time_limit_seconds or limit) - limit) < 1) then asked = c end
  end
  if not asked then
    local out = answer.left_out and answer.left_out[1]
    return out and hopeless(what, out, limit)
  end
  local median, late = asked.wait_seconds.p50, asked.wait_seconds.p90
  local text = what .. (median and " would probably start " .. start(median) or ": no end of its wait is in sight")
  if median then
    text = text .. " (90 %: " .. (late and "within " .. words(late) or "no end in sight") .. ")"
  end
  if limit then text = text .. shorter(candidates, asked, limit) end
  if answer.stale then text = text .. string.format(" (by data %s old)", words(answer.age_seconds)) end
  return text
end

-- forecast prints the forecast of a submission. It may raise errors.
local function forecast(options, offset)
  local mode = os.getenv("WAITCAST_CLI_FILTER") or "tty"
  if mode == "off" or not settings.commands[options.type] then return end
  if offset and offset > 0 then return end                                                      -- a heterogeneous job's further components
  if options.type == "srun" and os.getenv("SLURM_JOB_ID") then return end                       -- a step
  local set = decode(slurm.json_cli_options(options))                                           -- the others have values that mean nothing
  if set["test-only"] or set.quiet or set.hold or set.begin or set.dependency or set.reservation then return end -- or it waits for something else
  local body, limit = question(set)
  local answer = ask(body, mode)
  local text = answer and sentence(answer, limit, set.array and "the first task of this array" or "this job")
  if text then io.stderr:write("waitcast: " .. text:gsub("%c", " ") .. "\n") end
end

-- waitcast_forecast is for the pre_submit function of other filters: it returns nothing, and raises nothing.
function waitcast_forecast(options, offset) pcall(forecast, options, offset) end

function slurm_cli_setup_defaults(options, early) return slurm.SUCCESS end

function slurm_cli_pre_submit(options, offset)
  waitcast_forecast(options, offset)
  return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id) return slurm.SUCCESS end
