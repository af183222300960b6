// Runs a fuzz target without libFuzzer: first the corpus unchanged, then seeded mutations of it, as many as given, or
// (`60s`) for that long. It works in every build and with every compiler. It does not see which code an input reaches,
// but it is fast without sanitizers.
// Usage: NAME_fuzz MUTATIONS|SECONDSs CORPUS-DIRECTORY [SEED]
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

const Input* underTest = nullptr;

void run(const Input& input) {
  underTest = &input;
  LLVMFuzzerTestOneInput(input.data(), input.size());
  underTest = nullptr;
}

/// Prints the input that ended the process, so that it can be kept.
void printInput(int signal) {
  static constexpr char digits[] = "0123456789abcdef";
  if (underTest != nullptr) {
    static constexpr char text[] = "the input, in hexadecimal: ";
    bool written = write(STDERR_FILENO, text, sizeof text - 1) > 0;
    for (const std::uint8_t byte : *underTest) {
      const char pair[2] = {digits[byte >> 4U], digits[byte & 15U]};
      written = written && write(STDERR_FILENO, pair, 2) == 2;
    }
    if (written) (void)!write(STDERR_FILENO, "\n", 1);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::vector<Input> corpusIn(const char* directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{directory}) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Input> corpus;
  for (const auto& file : files) {
    std::ifstream stream{file, std::ios::binary};
    corpus.emplace_back(std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{});
  }
  return corpus;
}

class Mutator {
 public:
  Mutator(const std::vector<Input>& corpus, std::uint64_t seed) : corpus_{corpus}, random_{seed} {}

  Input next() {
    Input input = pick();
    for (std::size_t left = 1 + below(4); left > 0; --left) change(input);
    if (input.size() > mostBytes) input.resize(mostBytes);
    return input;
  }

 private:
  static constexpr std::size_t mostBytes = 4096;

  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  const Input& pick() { return corpus_[below(corpus_.size())]; }
  std::uint8_t byte() {
    static constexpr char likely[] = "\r\n\t \"'{}[]:,;=<>@%#/\\.-+0129aZ\0\xC3\xFF";
    return below(2) == 0 ? static_cast<std::uint8_t>(likely[below(sizeof likely - 1)])
                         : static_cast<std::uint8_t>(random_());
  }

  void change(Input& input) {
    const auto at = [&](std::size_t index) { return input.begin() + static_cast<std::ptrdiff_t>(index); };
    const std::size_t place = below(input.size());
    switch (below(5)) {
      case 0:
        if (!input.empty()) input[place] = byte();
        break;
      case 1:
        input.insert(at(place), byte());
        break;
      case 2:
        input.erase(at(place), at(place + below(input.size() - place + 1)));
        break;
      case 3: {  // a part of another one, or of itself
        const Input other = pick();
        const std::size_t from = below(other.size());
        const auto begin = other.begin() + static_cast<std::ptrdiff_t>(from);
        input.insert(at(place), begin, begin + static_cast<std::ptrdiff_t>(below(other.size() - from + 1)));
        break;
      }
      default:
        if (!input.empty()) input[place] = static_cast<std::uint8_t>(input[place] ^ (1U << below(8)));
        break;
    }
  }

  const std::vector<Input>& corpus_;
  std::mt19937_64 random_;
};

constexpr std::uint64_t usualSeed = 20260731;  // the same run each time

/// Returns the number of mutations. `amount`: this many, or for this many seconds if it ends in an s.
long long runMutations(Mutator& mutator, const std::string& amount) {
  const long long number = std::atoll(amount.c_str());
  long long done = 0;
  if (!amount.ends_with('s')) {
    for (; done < number; ++done) run(mutator.next());
    return done;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{number};
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 1000; ++i, ++done) run(mutator.next());
  }
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: %s MUTATIONS|SECONDSs CORPUS-DIRECTORY [SEED]\n", argv[0]);
    return 2;
  }
  std::signal(SIGABRT, printInput);
  std::signal(SIGSEGV, printInput);
  const std::vector<Input> corpus = corpusIn(argv[2]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s holds no input\n", argv[2]);
    return 2;
  }
  for (const Input& input : corpus) run(input);
  Mutator mutator{corpus, argc == 4 ? std::strtoull(argv[3], nullptr, 10) : usualSeed};
  const long long mutations = runMutations(mutator, argv[1]);
  std::printf("%zu inputs of the corpus and %lld mutations of them\n", corpus.size(), mutations);
  return 0;
}
