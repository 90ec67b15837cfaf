local efcp = Proto("efcp", "RINA EFCP")
local cdap = Proto("cdap", "RINA CDAP")

local pdu_fields = {
    syntax = ProtoField.string("efcp.syntax", "Syntax"),
    ttl_in_front = ProtoField.uint8("efcp.protection.ttl", "TTL"),
    data = ProtoField.bytes("efcp.data", "User data"),
    type_name = ProtoField.string("efcp.type_name", "Type"),
}
local all = {pdu_fields.syntax, pdu_fields.ttl_in_front, pdu_fields.data, pdu_fields.type_name}
for _, syntax in ipairs(SYNTAXES) do
    for _, field in ipairs(syntax.fields) do
        local name = field[1]
        if not pdu_fields[name] then
            local hexadecimal = name == "type" or name == "flags" or name == "checksum"
            pdu_fields[name] = ProtoField.uint32("efcp." .. name, name, hexadecimal and base.HEX or base.DEC)
            all[#all + 1] = pdu_fields[name]
        end
    end
end
local flag_fields = {}
for _, flag in ipairs(FLAGS) do
    flag_fields[flag[2]] = ProtoField.bool("efcp.flags." .. flag[2], flag[2], 32, nil, flag[1])
    all[#all + 1] = flag_fields[flag[2]]
end
-- In units of four members; not in rlite's syntax.
local passed = ProtoField.uint32("efcp.flags.passed", "passed", base.DEC, nil, PASSED)
all[#all + 1] = passed
efcp.fields = all

local message_fields = {
    protected = ProtoField.bool("cdap.protected", "Protected"),
    number = ProtoField.uint64("cdap.number", "Number"),
    tag = ProtoField.bytes("cdap.tag", "Tag"),
    operation = ProtoField.string("cdap.operation", "Operation"),
}
all = {message_fields.protected, message_fields.number, message_fields.tag, message_fields.operation}
for _, field in pairs(MESSAGE) do
    local make = field[2] == "string" and ProtoField.string or field[2] == "number" and ProtoField.int64 or ProtoField.bytes
    message_fields[field[1]] = make("cdap." .. field[1], field[1])
    all[#all + 1] = message_fields[field[1]]
end
cdap.fields = all

local function number_of(range, syntax)
    return syntax.little_endian and range:le_uint() or range:uint()
end

-- Offset and bytes of a field.
local function place(syntax, name)
    local at = 0
    for _, field in ipairs(syntax.fields) do
        if field[1] == name then
            return at, field[2]
        end
        at = at + field[2]
    end
end

local function value(buffer, syntax, name, from)
    local at, bytes = place(syntax, name)
    return number_of(buffer(from + at, bytes), syntax)
end

local function ones_sum(buffer, from, bytes)
    local sum = 0
    for at = from, from + bytes - 1, 2 do
        sum = sum + buffer(at, 2):uint()
    end
    -- Without operators on bits, which Lua has from 5.3 on.
    while sum > 0xffff do
        sum = sum % 0x10000 + math.floor(sum / 0x10000)
    end
    return sum
end

-- The syntax of a PDU, and where it begins: behind a TTL, perhaps.
local function find(buffer)
    for _, try in ipairs({{1, 0}, {2, 0}, {3, 0}, {2, 1}}) do
        local syntax, from = SYNTAXES[try[1]], try[2]
        if buffer:len() >= from + syntax.bytes and value(buffer, syntax, "version", from) == 1
            and syntax.types[value(buffer, syntax, "type", from)] then
            local length = value(buffer, syntax, "length", from)
            local fits = length >= syntax.bytes and from + length <= buffer:len()
            if fits and (syntax.name ~= "checksum" or ones_sum(buffer, from, syntax.bytes) == 0xffff) then
                return syntax, from, length
            end
        end
    end
end

-- A number, where it ends, and its halves of 32 bits.
local function varint(buffer, at)
    local low, high, shift = 0, 0, 0
    while at < buffer:len() and shift < 64 do
        local byte = buffer(at, 1):uint()
        local part = (byte % 0x80) * 2 ^ (shift % 32)
        if shift < 32 then
            low, high = low + part % 2 ^ 32, high + math.floor(part / 2 ^ 32)
        else
            high = (high + part) % 2 ^ 32
        end
        at, shift = at + 1, shift + 7
        if byte < 0x80 then
            return math.floor(high * 2 ^ 32 + low), at, math.floor(low), math.floor(high)
        end
    end
end

-- A CDAP message: Protocol Buffers.
local function message(buffer, info, tree)
    local subtree = tree:add(cdap, buffer())
    local at, operation, object = 0, "", ""
    local protection = buffer:len() > OVERHEAD and buffer(0, 1):uint()
    if protection == 1 or protection == 2 then
        subtree:add(message_fields.protected, buffer(0, 1), true)
        subtree:add(message_fields.number, buffer(1, 8))
        subtree:add(message_fields.tag, buffer(9, OVERHEAD - 9))
        at = OVERHEAD
    end
    if protection == 2 then
        subtree:append_text(": encrypted")
        info.cols.info = "encrypted"
        info.cols.protocol = "CDAP"
        return
    end
    while at < buffer:len() do
        local key, behind = varint(buffer, at)
        if not key then
            break
        end
        local field, wire = MESSAGE[math.floor(key / 8)], key % 8
        local length = wire == 1 and 8 or wire == 5 and 4
        if wire == 0 then
            local number, next, low, high = varint(buffer, behind)
            if not number then
                break
            end
            if field and field[2] == "number" then
                subtree:add(message_fields[field[1]], buffer(behind, next - behind), Int64(low, high))
            end
            if field and field[1] == "op_code" then
                operation = OPERATIONS[number] or "unknown"
                subtree:add(message_fields.operation, buffer(behind, next - behind), operation)
            end
            at = next
        else
            if wire == 2 then
                length, behind = varint(buffer, behind)
            end
            if not length or behind + length > buffer:len() then
                break
            end
            if field and length > 0 then
                local range = buffer(behind, length)
                subtree:add(message_fields[field[1]], range)
                if field[1] == "obj_name" then
                    object = " " .. range:string()
                end
            end
            at = behind + length
        end
    end
    subtree:append_text(": " .. operation .. object)
    info.cols.info = operation .. object
    info.cols.protocol = "CDAP"
end

function efcp.dissector(buffer, info, tree)
    local syntax, from, length = find(buffer)
    if not syntax then
        return 0
    end
    info.cols.protocol = "EFCP"
    local subtree = tree:add(efcp, buffer(0, from + length))
    subtree:add(pdu_fields.syntax, buffer(from, syntax.bytes), syntax.name)
    if from > 0 then
        subtree:add(pdu_fields.ttl_in_front, buffer(0, from))
    end
    local at = from
    for _, field in ipairs(syntax.fields) do
        local range = buffer(at, field[2])
        local item = syntax.little_endian and subtree:add_le(pdu_fields[field[1]], range) or subtree:add(pdu_fields[field[1]], range)
        if field[1] == "flags" then
            for _, flag in ipairs(FLAGS) do
                item:add(flag_fields[flag[2]], range, number_of(range, syntax))
            end
            if syntax.name ~= "rlite" then
                item:add(passed, range, number_of(range, syntax))
            end
        end
        at = at + field[2]
    end
    local type_name = syntax.types[value(buffer, syntax, "type", from)]
    subtree:add(pdu_fields.type_name, buffer(from, syntax.bytes), type_name)
    local text = string.format("%s %d > %d cep %d > %d number %d", type_name, value(buffer, syntax, "src", from),
        value(buffer, syntax, "dst", from), value(buffer, syntax, "src_cep", from), value(buffer, syntax, "dst_cep", from),
        value(buffer, syntax, "sequence", from))
    subtree:append_text(": " .. text)
    info.cols.info = text
    if length > syntax.bytes then
        local data = buffer(from + syntax.bytes, length - syntax.bytes)
        if type_name == "MANAGEMENT" then
            message(data:tvb(), info, tree)
        else
            subtree:add(pdu_fields.data, data)
        end
    end
    return buffer:len()
end

DissectorTable.get("ethertype"):add(ETHERTYPE, efcp)
