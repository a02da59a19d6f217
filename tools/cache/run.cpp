#include "cache/run.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "artifact/file.h"
#include "base/failure.h"
#include "base/tool.h"
#include "cache/staged.h"

namespace weft::cache {
namespace {

// Larger reports are stored as they are.
constexpr std::uintmax_t rewritten_log_bytes = std::uintmax_t{16} << 20U;

/// Processes that want the same result wait for the first to make it. Only a matter of economy: where locks do not work, all make it.
class ActionLock {
public:
    ActionLock(const Store& store, const std::string& key, unsigned wait_seconds) {
        const fs::path path = store.root() / "locks" / key;
        file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file_ < 0 && errno == ENOENT) {
            make_folders(path.parent_path());
            file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        }
        if (file_ < 0) return;
        path_ = path.string();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(wait_seconds);
        while (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && std::chrono::steady_clock::now() < end) {
            waited_ = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    ~ActionLock() {
        if (file_ < 0) return;
        ::unlink(path_.c_str());
        ::close(file_);
    }
    ActionLock(const ActionLock&) = delete;
    ActionLock& operator=(const ActionLock&) = delete;
    [[nodiscard]] bool waited() const { return waited_; }

private:
    int file_ = -1;
    std::string path_;
    bool waited_ = false;
};

/// A file with the time of the beginning, which becomes the stamp at the end: an input that changes in between is newer.
class Stamp {
public:
    explicit Stamp(std::string path) : path_(std::move(path)) {
        if (path_.empty()) return;
        const fs::path parent = fs::path(path_).parent_path();
        if (!parent.empty()) make_folders(parent);
        temporary_ = fmt::format("{}.{}.part", path_, ::getpid());
        const int file = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (file < 0) system_failure("{}: cannot create: {}", path_, std::strerror(errno));
        ::close(file);
    }
    ~Stamp() {
        if (!temporary_.empty()) ::unlink(temporary_.c_str());
    }
    Stamp(const Stamp&) = delete;
    Stamp& operator=(const Stamp&) = delete;
    void set() {
        if (path_.empty()) return;
        if (::rename(temporary_.c_str(), path_.c_str()) != 0) system_failure("{}: cannot put in place: {}", path_, std::strerror(errno));
        temporary_.clear();
    }

private:
    std::string path_;
    std::string temporary_;
};

/// What tells whether a file was changed.
std::string state_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return "missing";
    return fmt::format("{} {} {} {}.{} {}.{}", status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                       status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

std::vector<std::string> states_of(const std::vector<std::string>& paths) {
    std::vector<std::string> states;
    for (const auto& path : paths) states.push_back(state_of(path));
    return states;
}

bool is_volatile(const StoredFile& file) { return file.slot.starts_with("log"); }
bool checks_itself(const StoredFile& file) { return file.slot.starts_with("blobs"); }

/// A link to a damaged object is no input: the object goes, so that Make makes it again.
void check_linked_inputs(const Store& store, const Action& action) {
    for (const auto& input : action.inputs) {
        const auto hash = store.object_of_link(input);
        std::error_code error;
        if (!hash || !fs::exists(input, error) || digest_file(store.algorithm(), input) == *hash) continue;
        store.quarantine(store.object_path(*hash));
        bad_input("{}: the stored object is damaged and was put into quarantine; make the file again", input);
    }
}

/// Whether all that a record names is there and undamaged. Weight tensors are checked by size: every reader checks their contents.
bool is_intact(const Store& store, const Record& record, const RunOptions& options) {
    bool intact = true;
    const auto check = [&](const Content& content, bool whole) {
        const Store::State state = store.check_object(content, whole);
        if (state == Store::State::good) return;
        intact = false;
        if (state != Store::State::damaged) return;
        options.warn(fmt::format("{}: damaged; it goes into quarantine and is made again", store.object_path(content.hash).string()));
        store.quarantine(store.object_path(content.hash));
    };
    for (const auto& file : record.files) check(file.content, !checks_itself(file));
    for (const Content& text : {record.standard_output, record.standard_error}) {
        if (!text.hash.empty()) check(text, true);
    }
    return intact;
}

std::string object_text(const Store& store, const Content& content) { return content.hash.empty() ? std::string() : read_text(store.object_path(content.hash)); }

void say(const Action& action, const RunOptions& options, std::string_view suffix) {
    if (options.label.empty()) return;
    const auto& outputs = action.outputs.empty() ? action.folders : action.outputs;
    fmt::print("{:<9} {}{}\n", options.label, outputs.empty() ? "" : outputs.front(), suffix);
    std::fflush(stdout);
}

/// The dependency file that Make includes: for the stamp where there is one, else for the first output.
void write_depfile(const Action& action, const RunOptions& options, const std::vector<std::string>& dependencies) {
    if (action.depfile.empty()) return;
    const std::string target = !options.stamp.empty() ? options.stamp : action.outputs.empty() ? action.depfile : action.outputs.front();
    std::string text = make_escaped(target) + ":";
    for (const auto& path : dependencies) text += " \\\n  " + make_escaped(local_path(action, path));
    text += "\n";
    for (const auto& path : dependencies) text += "\n" + make_escaped(local_path(action, path)) + ":\n";
    write_if_changed(action.depfile, text);
}

/// Puts a record's results in place; the command's status.
int restore(const Store& store, const Action& action, const RunOptions& options, const Record& record, Stamp& stamp) {
    place_results(store, action, record, options.placement);
    write_depfile(action, options, record.dependencies);
    fmt::print("{}", object_text(store, record.standard_output));
    const bool kept_refusal = record.status == 1 && action.has_refusal();
    if (!kept_refusal) fmt::print(stderr, "{}", object_text(store, record.standard_error));
    stamp.set();
    return kept_refusal ? 0 : record.status;
}

std::string version_in_report(const fs::path& report) {
    const auto json = nlohmann::json::parse(read_text(report), nullptr, false);
    const nlohmann::json::json_pointer place("/run/version");
    return !json.is_discarded() && json.contains(place) && json[place].is_string() ? json[place].get<std::string>() : "";
}

/// Moves what a run left into the store and describes it.
Record store_results(Store& store, const Action& action, const RunOptions& options, const StagedRun& staged, const fs::path& staging, const ChildResult& child) {
    Record record;
    record.status = child.status;
    record.provenance.command = action.command;
    record.provenance.host = host_name();
    record.provenance.time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    record.provenance.seconds = child.seconds;
    record.dependencies = staged.dependencies();
    for (const auto& file : staged.files(child.status)) {
        StoredFile stored{file.slot, file.name, {}};
        if (is_volatile(stored) && fs::file_size(file.path) < rewritten_log_bytes) {
            if (record.provenance.version.empty()) record.provenance.version = version_in_report(file.path);
            stored.content = store.add_text(staging, staged.with_places(read_text(file.path)));
        } else {
            stored.content = store.add_object(file.path, !checks_itself(stored));
        }
        record.files.push_back(std::move(stored));
    }
    if (!child.standard_output.empty() && !options.discard_output) record.standard_output = store.add_text(staging, staged.with_places(child.standard_output));
    if (!child.standard_error.empty() || (action.has_refusal() && child.status == 1)) {
        record.standard_error = store.add_text(staging, staged.with_places(child.standard_error));
    }
    return record;
}

bool is_result(const Action& action, int status) { return status == 0 || (status == 1 && action.has_refusal()); }

/// The command failed or was interrupted: its messages, and nothing else.
int pass_failure(const StagedRun& staged, const ChildResult& child) {
    fmt::print("{}", staged.with_places(child.standard_output));
    std::fflush(stdout);
    fmt::print(stderr, "{}", staged.with_places(child.standard_error));
    return child.interrupted_by != 0 ? 128 + child.interrupted_by : child.status;
}

/// Without the right to write into the store: runs beside the outputs and puts real files in place.
int run_unstored(const Action& action, const RunOptions& options, Stamp& stamp) {
    const fs::path beside = action.outputs.empty() ? fs::path(".") : fs::absolute(action.outputs.front()).parent_path();
    StagingFolder staging(beside);
    const StagedRun staged(action, staging.path());
    say(action, options, "");
    const ChildResult child = staged.run(options.launcher, {}, {});
    if (child.interrupted_by != 0 || !is_result(action, child.status)) return pass_failure(staged, child);
    const auto files = staged.files(child.status);
    std::error_code error;
    for (const auto& folder : action.folders) {
        const fs::path fresh = staging.path() / fmt::format("f{}", &folder - action.folders.data()) / fs::path(folder).filename();
        if (fs::is_directory(fresh, error)) exchange_folder(fresh, folder);
    }
    for (const auto* outputs : {&action.outputs, &action.optional_outputs}) {
        for (const auto& output : *outputs) fs::remove(output, error);
    }
    for (const auto& file : files) {
        if (file.slot.starts_with("folder")) continue;
        const fs::path place = place_of(action, {file.slot, file.name, {}});
        if (place.has_parent_path()) make_folders(place.parent_path());
        fs::rename(file.path, place, error);
        if (error) system_failure("{}: cannot put in place: {}", place.string(), error.message());
    }
    write_depfile(action, options, staged.dependencies());
    if (!options.discard_output) fmt::print("{}", staged.with_places(child.standard_output));
    const bool refused = child.status == 1;
    if (action.has_refusal()) fs::remove(action.refusal, error);
    if (refused) publish_text(action.refusal, staged.with_places(child.standard_error));
    else fmt::print(stderr, "{}", staged.with_places(child.standard_error));
    stamp.set();
    return 0;
}

/// Names the first byte at which a second run's file differs from the stored one; empty where none does.
std::string first_difference(const fs::path& stored, const fs::path& second) {
    const MappedFile a(stored);
    const MappedFile b(second);
    const auto [left, right] = std::ranges::mismatch(a.bytes(), b.bytes());
    if (left == a.bytes().end() && right == b.bytes().end()) return "";
    return fmt::format("first at byte {} ({} and {} bytes long)", left - a.bytes().begin(), a.bytes().size(), b.bytes().size());
}

/// Runs the command again: another folder, locale, time zone and file mask. Throws Failure(refused) where results differ.
void check_again(const Store& store, const Action& action, const RunOptions& options, const Record& record) {
    StagingFolder staging(store.root() / "tmp");
    const fs::path folder = staging.path() / "once more";
    const StagedRun staged(action, folder);
    const Surroundings other{{{"LC_ALL", "tr_TR.UTF-8"}, {"TZ", "Asia/Kathmandu"}, {"TMPDIR", fs::absolute(staging.path()).string()}}, 077};
    const ChildResult child = staged.run({}, options.check_arguments, other);
    std::string text;
    if (child.status != record.status) text += fmt::format("  status {} and {}\n{}", record.status, child.status, child.standard_error);
    std::vector<const StoredFile*> missing;
    for (const auto& file : record.files) {
        if (!is_volatile(file)) missing.push_back(&file);
    }
    for (const auto& file : staged.files(1)) {
        const StoredFile found{file.slot, file.name, {}};
        if (is_volatile(found)) continue;
        const auto same = std::ranges::find_if(missing, [&](const StoredFile* one) { return one->slot == file.slot && one->name == file.name; });
        if (same == missing.end()) {
            text += fmt::format("  {}: not among the stored results\n", place_of(action, found).string());
            continue;
        }
        const fs::path object = store.object_path((*same)->content.hash);
        const std::string where = first_difference(object, file.path);
        if (!where.empty()) text += fmt::format("  {}: {}\n    weft-inspect diff '{}' '{}'\n", place_of(action, found).string(), where, object.string(), file.path.string());
        missing.erase(same);
    }
    for (const StoredFile* file : missing) text += fmt::format("  {}: not made again\n", place_of(action, *file).string());
    if (text.empty()) return;
    staging.keep();
    refuse("{}: a second run gave other results\n{}", fmt::join(action.command, " "), text);
}

void log_use(const Store& store, std::string_view what, const Action& action, const std::string& key, double seconds) {
    store.log(fmt::format("{:%Y-%m-%dT%H:%M:%SZ}\t{}\t{}\t{}\t{:.6f}\n", fmt::gmtime(std::time(nullptr)), what,
                          fs::path(action.command.front()).filename().string(), key, seconds));
}

/// Runs the command and stores its results.
int run_stored(Store& store, const Action& action, const RunOptions& options, const Lookup& lookup, Stamp& stamp) {
    const auto before = states_of(action.inputs);
    StagingFolder staging(store.root() / "tmp");
    const StagedRun staged(action, staging.path());
    say(action, options, "");
    const ChildResult child = staged.run(options.launcher, {}, {});
    if (child.interrupted_by != 0 || !is_result(action, child.status)) return pass_failure(staged, child);
    const Record record = store_results(store, action, options, staged, staging.path(), child);
    if (states_of(action.inputs) == before) {
        const std::string key = save_record(store, action, lookup.parts, record);
        log_use(store, "made", action, key, child.seconds);
    } else {
        options.warn("an input changed while the command ran, so its result is not remembered");
    }
    if (options.check) check_again(store, action, options, record);
    return restore(store, action, options, record, stamp);
}

}  // namespace

int run_action(Store& store, const Action& action, const RunOptions& options) {
    const auto begin = std::chrono::steady_clock::now();
    Stamp stamp(options.stamp);
    if (!store.exists()) return run_unstored(action, options, stamp);
    check_linked_inputs(store, action);
    const auto reuse = [&](Lookup& lookup) -> std::optional<int> {
        // Whoever does not keep refusals gets no stored one.
        if (!lookup.record || (lookup.record->status != 0 && !action.has_refusal())) return std::nullopt;
        if (!is_intact(store, *lookup.record, options)) return std::nullopt;
        say(action, options, " (stored)");
        if (options.check) check_again(store, action, options, *lookup.record);
        const int status = restore(store, action, options, *lookup.record, stamp);
        log_use(store, "reused", action, lookup.key, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        return status;
    };
    Lookup lookup = look_up(store, action);
    if (const auto status = reuse(lookup)) return *status;
    if (store.read_only()) return run_unstored(action, options, stamp);
    const ActionLock lock(store, lookup.key, options.wait_seconds);
    if (lock.waited()) {
        lookup = look_up(store, action);
        if (const auto status = reuse(lookup)) return *status;
    }
    return run_stored(store, action, options, lookup, stamp);
}

}  // namespace weft::cache
