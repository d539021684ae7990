//! The terms of Eq. 1 of the first study: what the time of a file access is made of.

/// What a block is for; the terms of Eq. 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// Blocks of directories: `T_DO`.
    Directory,
    /// Inode tables, indirect blocks, superblock, group descriptors: `T_MO`.
    Metadata,
    /// Bitmaps of blocks and inodes: `T_FL`.
    FreeList,
    /// Contents of files: `T_DFA`.
    FileData,
    /// The log: `T_J`.
    Journal,
}

impl Component {
    /// All, in the order of Eq. 1.
    pub const ALL: [Self; 5] = [
        Self::Directory,
        Self::Metadata,
        Self::FreeList,
        Self::FileData,
        Self::Journal,
    ];

    /// Its term in Eq. 1.
    pub fn term(self) -> &'static str {
        match self {
            Self::Directory => "T_DO",
            Self::Metadata => "T_MO",
            Self::FreeList => "T_FL",
            Self::FileData => "T_DFA",
            Self::Journal => "T_J",
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Directory => "directory",
            Self::Metadata => "metadata",
            Self::FreeList => "free list",
            Self::FileData => "file data",
            Self::Journal => "journal",
        }
    }
}
