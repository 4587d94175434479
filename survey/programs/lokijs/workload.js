// Insert three documents, save after each, and say which is saved. Arguments: the folder of packages, and how many.
const Loki = require(`${process.argv[2]}/lokijs`);

const count = Number(process.argv[3] ?? 3);
const db = new Loki('data/db.json', { autoload: true, autoloadCallback: () => next(1) });

function next(number) {
  const documents = db.getCollection('documents') ?? db.addCollection('documents');
  if (number > 1 || !count) documents.insert({ number: number - 1, text: 'text '.repeat(40) });
  db.saveDatabase((error) => {
    if (error) throw error;
    if (number > 1) console.log('saved', number - 1);
    if (number <= count) next(number + 1);
  });
}
