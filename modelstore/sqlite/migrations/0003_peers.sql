-- What other methods answered, beside each forecast: for each its name's length (4 bytes, little-endian), its name, and one number for each level. It
-- is NULL where none did, as in the rows from before; then the checksum is that of before, too.
ALTER TABLE ledger ADD COLUMN peers BLOB;
