-- SQLite's check of a whole file compares each table with its indexes, and with nothing else: a table without one can lose all of its rows unseen
-- when an empty page takes the place of its first. These indexes are read by that check only.
CREATE INDEX checkpoint_counterpart ON checkpoint (crc);
CREATE INDEX meta_counterpart ON meta (crc);
CREATE INDEX snapshot_counterpart ON snapshot (at);
CREATE INDEX bad_line_counterpart ON bad_line (at);
CREATE INDEX head_counterpart ON head (crc);
