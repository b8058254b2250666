import ArgumentParser
struct DevicesCommand: ParsableCommand {}
struct LogCommand: ParsableCommand {}
struct SegmentsCommand: ParsableCommand {}
struct StatCommand: ParsableCommand {}
struct VerifyCommand: ParsableCommand {}
struct CompactCommand: ParsableCommand {}
