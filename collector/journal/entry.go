package journal

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// entry has the fields of a journal entry that are used. Numbers are strings in journalctl's JSON.
type entry struct {
	Cursor   string `json:"__CURSOR"`
	Received string `json:"__REALTIME_TIMESTAMP"`
	// Sent is the time at which the program sent the message. Messages from its standard error have none.
	Sent    string `json:"_SOURCE_REALTIME_TIMESTAMP"`
	Message value  `json:"MESSAGE"`
	ID      string `json:"MESSAGE_ID"`
	Count   string `json:"N_DROPPED"`
}

// value is the value of a field. In JSON it is a text, or a list of bytes if it is not plain text. An entry with
// several values of a field has a list of values; the first one counts.
type value []byte

// UnmarshalJSON implements json.Unmarshaler.
func (v *value) UnmarshalJSON(text []byte) error {
	*v = nil
	if len(text) > 0 && text[0] == '"' {
		var s string
		err := json.Unmarshal(text, &s)
		*v = value(s)
		return err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 {
		return err
	}
	if c := list[0][0]; c == '"' || c == '[' {
		return v.UnmarshalJSON(list[0])
	}
	numbers := make(value, 0, len(list))
	for _, item := range list {
		n, err := strconv.ParseUint(string(item), 10, 8)
		if err != nil {
			return err
		}
		numbers = append(numbers, byte(n))
	}
	*v = numbers
	return nil
}

// droppedID is the MESSAGE_ID of the message by which journald reports that it dropped messages
// (SD_MESSAGE_JOURNAL_DROPPED in sd-messages.h).
const droppedID = "a596d6fe7bfa4994828e72309e95d61e"

// received returns when journald received the entry, in microseconds since 1970.
func (e *entry) received() int64 {
	n, _ := strconv.ParseInt(e.Received, 10, 64)
	return n
}

// line returns the entry as a line of slurmctld's own log: "[2026-11-23T15:18:47.123456Z] message".
func (e *entry) line() []byte {
	message := bytes.TrimSpace(bytes.ReplaceAll(e.Message, []byte("\n"), []byte(" ")))
	if len(message) > 1 && message[0] == '[' && message[1] >= '0' && message[1] <= '9' {
		return message // the message itself has its time
	}
	message = bytes.TrimPrefix(message, []byte("slurmctld: ")) // a message from standard error begins like this
	micros := e.received()
	if sent, err := strconv.ParseInt(e.Sent, 10, 64); err == nil && sent > 0 {
		micros = sent
	}
	line := time.UnixMicro(micros).UTC().AppendFormat([]byte("["), "2006-01-02T15:04:05.000000Z07:00")
	return append(append(line, "] "...), message...)
}

// drops reads a message such as "Suppressed 35 messages from slurmctld.service". It returns how many messages were
// dropped, at least 1. ours is true if the message contains the value of one of the matches FIELD=value.
func (e *entry) drops(matches []string) (n int64, ours bool) {
	text := string(e.Message)
	if n, _ = strconv.ParseInt(e.Count, 10, 64); n == 0 {
		for word := range strings.FieldsSeq(text) {
			if n, _ = strconv.ParseInt(word, 10, 64); n > 0 {
				break
			}
		}
	}
	for _, m := range matches {
		if _, of, ok := strings.Cut(m, "="); ok && of != "" && strings.Contains(text, of) {
			ours = true
		}
	}
	return max(n, 1), ours
}
