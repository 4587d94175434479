FIXED = ARGV == ["fixed"]
$stdout.sync = true

def sync(path)
  File.open(path) { |file| file.fsync }
end

def config
  File.write("config.new", "theme = dark\n") # LOST config
  sync("config.new") if FIXED
  File.rename("config.new", "config") # SURVIVED config
end

def entry
  File.open("entry.new", "w") do |file|
    file.write("entry 1\n")
    file.fsync
  end
  File.rename("entry.new", "entry") # LOST entry
  sync(".") if FIXED
  puts "entry" # ACKED entry
end

def table
  name = FIXED ? "table.new" : "table"
  file = File.open(name, "w") # SURVIVED table
  file.write("new new new\n")
  file.flush # LOST table
  file.fsync
  file.close
  File.rename(name, "table") if FIXED
end

def journal
  file = File.open("journal", "a")
  file << "paid 10\n"
  file.flush # LOST journal
  file.fsync if FIXED
  puts "paid" # ACKED journal
  file.fsync
end

def order
  blob = File.open("blob", "r+")
  index = File.open("index", "r+")
  blob.syswrite("blob blob\n") # LOST order
  blob.fsync if FIXED
  index.syswrite("blob at 0\n") # SURVIVED order
  index.fsync
  blob.fsync
end

%i[config entry table journal order].each do |mistake|
  send(mistake)
  sync(".")
end
