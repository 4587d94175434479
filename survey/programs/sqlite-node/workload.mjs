// Insert rows, each in a transaction of its own, and say which is committed. Argument: how many, if not three.
import { DatabaseSync } from "node:sqlite";
import { writeSync } from "node:fs";

const rows = Number(process.argv[2] ?? 3);
const database = new DatabaseSync("data/rows.db");
database.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
database.exec("CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, text TEXT)");
const insert = database.prepare("INSERT INTO rows VALUES (?, ?)");
for (let number = 1; number <= rows; number++) {
  insert.run(number, `row ${number} `.repeat(20));
  writeSync(1, `committed ${number}\n`);
}
database.close();
